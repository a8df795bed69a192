/* dpot convert: converts an array to another file format, in part and to another scale. */
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "tool/picture/plot.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/slice.h"

#include <math.h>
#include <string.h>

#define BYTE_MAX 255.0

static const struct option options[] = {
    {"in", "F", "array: .npy, .npz (of several FILE.npz:NAME), .csv or IDX, also with gzip"},
    {"rows", "a:b", "rows a to b - 1, counted from 0 (default: all)"},
    FORM_OPTIONS,
    {"to-range", "lo,hi", "map --from-range linearly to this range"},
    {"from-range", "lo,hi", "the range that --to-range maps (default: 0,255 for IDX files)"},
    {"number", NULL, "add a first column of row numbers, as the devices of dpot simulate"},
    {"out", "F", "the array; its name ends in .npy or .csv"},
    {NULL, NULL, NULL},
};

struct conversion {
    struct run *run;
    const char *in, *out;
    bool is_scaled;
    double from[2], to[2];
    struct array array, part;
};

static dpot_status read_range(struct run *run, const char *name, double range[2], bool *is_given)
{
    const dpot_status status = plot_read_interval(run, name, range, is_given);
    if (status == DPOT_OK && *is_given && !isfinite(range[1] - range[0])) {
        return RUN_USAGE(run, "--%s is %.60s: its length is beyond the range of a double", name,
                         option_text(run, name));
    }
    return status;
}

static dpot_status read_options(struct conversion *c)
{
    struct run *run = c->run;
    bool has_from = false;
    dpot_status status = option_require(run, "in", "a file of an array", &c->in);
    if (status == DPOT_OK) {
        status = option_array_output(run, "out", &c->out);
    }
    if (status == DPOT_OK && !c->out) {
        status = RUN_USAGE(run, "there is no --out: give a name that ends in .npy or .csv");
    }
    if (status == DPOT_OK) {
        status = read_range(run, "to-range", c->to, &c->is_scaled);
    }
    if (status == DPOT_OK) {
        status = read_range(run, "from-range", c->from, &has_from);
    }
    if (status == DPOT_OK && has_from && !c->is_scaled) {
        return RUN_USAGE(run, "--from-range is given without --to-range: give both ranges");
    }
    return status;
}

/* The range of the data is no default: it differs from file to file. */
static dpot_status settle_range(struct conversion *c)
{
    if (!c->is_scaled || option_is_given(c->run, "from-range")) {
        return DPOT_OK;
    }
    if (c->array.source != ARRAY_IDX) {
        return RUN_USAGE(
            c->run, "--to-range needs --from-range lo,hi: the range that the numbers may have");
    }
    c->from[1] = BYTE_MAX;
    return DPOT_OK;
}

/* Copies the chosen rows to c->part. */
static dpot_status choose(struct conversion *c)
{
    const struct array *whole = &c->array;
    const size_t n_cols = whole->n_cols;
    size_t rows[2] = {0, whole->n_rows};
    dpot_status status = slice_read(c->run, "rows", whole->n_rows, rows);
    if (status == DPOT_OK) {
        status = array_init(&c->part, rows[1] - rows[0], n_cols, whole->is_vector);
    }
    if (status == DPOT_OK) {
        memcpy(c->part.values, whole->values + rows[0] * n_cols,
               (rows[1] - rows[0]) * n_cols * sizeof *whole->values);
        c->part.names = c->array.names; /* move */
        c->array.names = NULL;
    }
    return status;
}

/* The ends are mapped exactly. */
static void rescale(struct conversion *c)
{
    const double span = c->from[1] - c->from[0];
    for (size_t i = 0; c->is_scaled && i < c->part.n_rows * c->part.n_cols; i++) {
        const double t = (c->part.values[i] - c->from[0]) / span;
        c->part.values[i] = (1 - t) * c->to[0] + t * c->to[1];
    }
}

/* The names of the columns behind that of the row numbers. */
static dpot_status name_numbers(const struct array *part, struct array *numbered)
{
    numbered->names = dpot_alloc_array(NULL, numbered->n_cols, sizeof *numbered->names);
    if (!numbered->names) {
        return DPOT_ERR_MEMORY;
    }
    (void)snprintf(numbered->names[0], sizeof numbered->names[0], "row");
    memcpy(numbered->names + 1, part->names, part->n_cols * sizeof *part->names);
    return DPOT_OK;
}

/* Adds a first column with the row numbers of the input. */
static dpot_status number_rows(struct conversion *c)
{
    struct array numbered = {0};
    const size_t n_cols = c->part.n_cols;
    size_t rows[2] = {0, c->array.n_rows};
    if (!option_is_given(c->run, "number")) {
        return DPOT_OK;
    }
    dpot_status status = slice_read(c->run, "rows", c->array.n_rows, rows);
    if (status == DPOT_OK) {
        status = array_init(&numbered, c->part.n_rows, n_cols + 1, false);
    }
    if (status == DPOT_OK && c->part.names) {
        status = name_numbers(&c->part, &numbered);
    }
    if (status != DPOT_OK) {
        array_release(&numbered);
        return status;
    }
    for (size_t i = 0; i < c->part.n_rows; i++) {
        double *row = numbered.values + i * (n_cols + 1);
        row[0] = (double)(rows[0] + i);
        memcpy(row + 1, c->part.values + i * n_cols, n_cols * sizeof *row);
    }
    array_release(&c->part);
    c->part = numbered;
    return DPOT_OK;
}

/* Other commands refuse NaN and infinities; warn while they can still be found. */
static void warn_of_nan(const struct conversion *c, size_t n, size_t first)
{
    run_warn(
        c->run,
        "%zu of the numbers written %s not finite, the first in row %zu, column %zu of %s: most "
        "commands refuse them",
        n, n == 1 ? "is" : "are", first / c->part.n_cols + 1, first % c->part.n_cols + 1, c->out);
}

static void put_result(struct conversion *c)
{
    double least = INFINITY, greatest = -INFINITY;
    size_t n_odd = 0, first = 0;
    for (size_t i = 0; i < c->part.n_rows * c->part.n_cols; i++) {
        const double value = c->part.values[i];
        if (!isfinite(value)) {
            first = n_odd == 0 ? i : first;
            n_odd++;
            continue;
        }
        least = fmin(least, value);
        greatest = fmax(greatest, value);
    }
    if (n_odd > 0) {
        warn_of_nan(c, n_odd, first);
    }
    run_put_text(c->run, "out", c->out);
    run_put_integer(c->run, "rows", c->part.n_rows);
    run_put_integer(c->run, "columns", c->part.n_cols);
    run_put_number(c->run, "min", least);
    run_put_number(c->run, "max", greatest);
    run_put_integer(c->run, "not_finite", n_odd);
}

static dpot_status run_convert(struct run *run)
{
    struct conversion c = {.run = run};
    const struct array_form form = load_form_options(run);
    dpot_status status = read_options(&c);
    if (status == DPOT_OK) {
        status = load_form(run, "in", &form, &c.array);
    }
    if (status == DPOT_OK) {
        status = settle_range(&c);
    }
    if (status == DPOT_OK) {
        status = choose(&c);
    }
    if (status == DPOT_OK) {
        rescale(&c);
        status = number_rows(&c);
    }
    if (status == DPOT_OK) {
        status = array_write(c.out, &c.part, ARRAY_F8, &run->error);
    }
    if (status == DPOT_OK) {
        put_result(&c);
    }
    array_release(&c.array);
    array_release(&c.part);
    return status;
}

const struct command command_convert = {
    .name = "convert",
    .summary = "convert an array to another file format, in part and to another scale",
    .details =
        "Reads .npy, .npz, .csv and IDX files (the format of MNIST; images become rows of pixels\n"
        "0 .. 255), also packed with gzip, writes .npy or .csv. --to-range lo,hi maps the range\n"
        "--from-range linearly; numbers outside --from-range are mapped outside --to-range. If "
        "the\n"
        "data will be privatised, both ranges must be public. A .csv keeps the names of its\n"
        "columns. NaN and infinities are written unchanged, with a warning.\n"
        "Keys: out, rows, columns, min, max (of the finite numbers written), not_finite.",
    .example = "dpot convert --in images-idx3-ubyte --rows 0:2 --to-range -1,1 --out images.npy",
    .options = options,
    .run = run_convert,
};
