#include "data.h"

#include "base/alloc.h"
#include "cli/options.h"

#include <string.h>

dpot_status data_from_options(struct run *run, struct data *data)
{
    *data = (struct data){.points = option_text(run, "points"),
                          .histogram = option_text(run, "histogram"),
                          .vector = option_text(run, "vector"),
                          .is_weighted = option_is_given(run, "weighted")};
    if (!!data->points + !!data->histogram + !!data->vector != 1) {
        return RUN_USAGE(run, "give one of --points, --histogram and --vector");
    }
    if (data->is_weighted && !data->points) {
        return RUN_USAGE(run,
                         "--weighted goes with --points: a histogram and a vector have no weights");
    }
    return DPOT_OK;
}

/* Whether the numbers are on one line; one before it is a header. */
static bool is_row(const struct array *table)
{
    return table->n_cols > 1;
}

static dpot_status check_table(struct run *run, const struct data *data)
{
    const struct array *table = &data->table;
    if (data->histogram && table->n_rows > 0 && is_row(table)) {
        return dpot_error_set(&run->error, DPOT_ERR_MALFORMED,
                              "a histogram has one column: this file has %zu", table->n_cols);
    }
    if (data->vector && is_row(table) && table->n_rows > 2) {
        return dpot_error_set(&run->error, DPOT_ERR_MALFORMED,
                              "a vector is one row or one column: this file has %zu x %zu",
                              table->n_rows, table->n_cols);
    }
    if (data->is_weighted && table->n_rows > 0 && table->n_cols < 2) {
        return dpot_error_set(&run->error, DPOT_ERR_MALFORMED,
                              "--weighted wants coordinates and a weight in each row");
    }
    return DPOT_OK;
}

/* Moves the last column of weighted places to data->weights, and the coordinates together, in
 * place. A place with a coordinate that is no number gets the weight 0. */
static dpot_status weigh_places(struct data *data)
{
    struct array *table = &data->table;
    const size_t width = table->n_cols, dim = width - (data->is_weighted ? 1 : 0);
    data->weights = dpot_alloc_array(NULL, table->n_rows, sizeof *data->weights);
    if (!data->weights) {
        return DPOT_ERR_MEMORY;
    }
    data->n_weights = table->n_rows;
    for (size_t i = 0; i < table->n_rows; i++) {
        const double *row = table->values + i * width;
        int has_all = 1;
        data->weights[i] = data->is_weighted ? row[dim] : 1;
        for (size_t j = 0; j < dim; j++) {
            has_all &= row[j] == row[j]; /* false for NaN */
        }
        data->weights[i] *= has_all;
        memmove(table->values + i * dim, row, dim * sizeof *row);
    }
    return DPOT_OK;
}

dpot_status data_read(struct run *run, struct data *data)
{
    const char *path = data->points      ? data->points
                       : data->histogram ? data->histogram
                                         : data->vector;
    const struct array_form form = {
        .columns = option_text(run, "columns"),
        .header = option_is_given(run, "header") ? ARRAY_HEADER_YES : ARRAY_HEADER_NO,
        .is_private = true,
    };
    dpot_status status = array_read_form(path, &form, &data->table, &run->error);
    if (status == DPOT_OK) {
        status = check_table(run, data);
    }
    if (status == DPOT_OK && data->points && data->table.n_rows > 0) {
        status = weigh_places(data);
    }
    return status;
}

static dpot_status submit_places(const struct session *s, const struct data *data,
                                 enum dpot_submit_outcome *outcome)
{
    const struct array *table = &data->table;
    const size_t n_last = data->is_weighted && table->n_rows > 0 ? 1 : 0;
    return dpot_client_submit_points(s->client, s->settings.campaign, table->values, data->weights,
                                     table->n_rows, (uint32_t)(table->n_cols - n_last), outcome);
}

/* How many lines of a histogram or a vector are its header. */
static size_t count_header_lines(const struct session *s, const struct data *data)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    const size_t n_rows = data->table.n_rows;
    if (is_row(&data->table)) {
        return n_rows - 1;
    }
    /* The library reports what is wrong with the campaign. */
    return dpot_client_get_campaign(s->client, s->settings.campaign, &info) == DPOT_OK &&
                   n_rows > 1 && n_rows - 1 == info.n_numbers
               ? 1
               : 0;
}

/* Submits a histogram or a vector. */
static dpot_status submit_numbers(const struct session *s, const struct data *data,
                                  enum dpot_submit_outcome *outcome)
{
    const uint8_t *id = s->settings.campaign;
    const struct array *table = &data->table;
    const size_t skipped = table->n_rows > 0 ? count_header_lines(s, data) : 0;
    const size_t n = (table->n_rows - skipped) * table->n_cols;
    const double *values = table->values ? table->values + skipped * table->n_cols : NULL;
    return data->histogram ? dpot_client_submit_histogram(s->client, id, values, n, outcome)
                           : dpot_client_submit_vector(s->client, id, values, (uint32_t)n, outcome);
}

dpot_status data_submit(const struct session *s, const struct data *data,
                        enum dpot_submit_outcome *outcome)
{
    return data->points ? submit_places(s, data, outcome) : submit_numbers(s, data, outcome);
}

void data_release(struct data *data)
{
    dpot_free_secret(NULL, data->weights, data->n_weights, sizeof *data->weights);
    array_wipe(&data->table);
}
