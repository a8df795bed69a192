#include "tool/central/pair.h"

#include "tool/shared/options.h"

dpot_status pair_check_options(struct run *run)
{
    const char *path = NULL;
    const dpot_status status = option_require(run, "x", "a file of records", &path);
    return status == DPOT_OK ? option_require(run, "y", "a file of records", &path) : status;
}

/* The numbers of records are public. */
static dpot_status load_side(struct run *run, const char *name, struct array *array)
{
    const dpot_status status = load_private(run, name, option_is_given(run, "header"), array);
    return status != DPOT_OK || array->n_rows > 0
               ? status
               : dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "--%s %s: there are no records: give at least one", name,
                                option_text(run, name));
}

dpot_status pair_load(struct run *run, struct pair *pair)
{
    *pair = (struct pair){.region = {0}};
    dpot_status status = load_side(run, "x", &pair->x);
    if (status == DPOT_OK) {
        status = load_side(run, "y", &pair->y);
    }
    if (status == DPOT_OK && pair->x.n_cols != pair->y.n_cols) {
        status = dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "--x has %zu coordinate%s and --y has %zu: they must agree",
                                pair->x.n_cols, DPOT_S(pair->x.n_cols), pair->y.n_cols);
    }
    if (status == DPOT_OK) {
        status = region_load_box(run, pair->x.n_cols, "x", &pair->region);
    }
    if (status == DPOT_OK) {
        region_fill(&pair->region, pair->x.values, pair->x.n_rows);
        region_fill(&pair->region, pair->y.values, pair->y.n_rows);
    }
    return status;
}

void pair_release(struct pair *pair)
{
    array_wipe(&pair->x);
    array_wipe(&pair->y);
    region_release(&pair->region);
}

void pair_warn_outside(const struct run *run, const struct pair *pair)
{
    region_warn_outside(run,
                        region_n_outside(&pair->region, pair->x.values, NULL, pair->x.n_rows) +
                            region_n_outside(&pair->region, pair->y.values, NULL, pair->y.n_rows));
}
