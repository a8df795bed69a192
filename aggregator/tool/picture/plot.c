/* dpot plot curves, dpot plot sheet, and common parts of all dpot plot commands. */
#include "tool/picture/plot.h"

#include "files/array.h"
#include "files/number.h"
#include "picture/curves.h"
#include "picture/sheet.h"
#include "tool/shared/commands.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/slice.h"

#include <math.h>
#include <string.h>

#define WIDTH_MIN 300

/* ---- shared ---- */

dpot_status plot_read_caption(struct run *run, struct picture_caption *caption)
{
    uint64_t width = PICTURE_WIDTH;
    *caption = (struct picture_caption){.title = option_text(run, "title"),
                                        .x_label = option_text(run, "x-label"),
                                        .y_label = option_text(run, "y-label"),
                                        .value_label = option_text(run, "value-label")};
    dpot_status status =
        option_require(run, "out", "a name that ends in .png or .svg", &caption->path);
    if (status == DPOT_OK) {
        status = picture_check_path(caption->path, &run->error);
    }
    if (status == DPOT_OK) {
        status = option_output(run, "out", &caption->path);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "width", WIDTH_MIN, PICTURE_SIDE_MAX, &width);
    }
    caption->scale = (double)width / PICTURE_WIDTH;
    return status;
}

bool plot_is_map(const struct run *run)
{
    return option_is_given(run, "map") || option_is_given(run, "border");
}

dpot_status plot_read_shape(struct run *run, const char *name, size_t shape[2], bool *is_given)
{
    const char *text = option_text(run, name);
    size_t n = 0;
    *is_given = text != NULL;
    if (text && (!number_parse_sides(text, 2, SIZE_MAX, shape, &n) || n != 2 ||
                 shape[0] > PICTURE_SIDE_MAX || shape[1] > PICTURE_SIDE_MAX)) {
        return RUN_USAGE(run, "--%s is %.40s: give rows and columns of 1 to %d, as in 16x24", name,
                         text, PICTURE_SIDE_MAX);
    }
    return DPOT_OK;
}

dpot_status plot_read_pair(struct run *run, const char *name, double pair[2], bool *is_given)
{
    const char *text = option_text(run, name);
    *is_given = text != NULL;
    return !text || number_parse_pair(text, pair)
               ? DPOT_OK
               : RUN_USAGE(run, "--%s is %.60s: give two numbers, as in 24.5,-125", name, text);
}

dpot_status plot_read_interval(struct run *run, const char *name, double pair[2], bool *is_given)
{
    const dpot_status status = plot_read_pair(run, name, pair, is_given);
    return status != DPOT_OK || !*is_given || pair[0] < pair[1]
               ? status
               : RUN_USAGE(run, "--%s is %.60s: give the lower end first", name,
                           option_text(run, name));
}

dpot_status plot_read_range(struct run *run, double pair[2], const double **range)
{
    bool is_given = false;
    const dpot_status status = plot_read_interval(run, "range", pair, &is_given);
    *range = is_given ? pair : NULL;
    if (status == DPOT_OK && is_given && option_is_given(run, "log") && !(pair[0] > 0)) {
        return RUN_USAGE(run, "--range is %.60s: with --log both ends are above 0",
                         option_text(run, "range"));
    }
    return status;
}

dpot_status plot_load_border(struct run *run, struct array *border)
{
    *border = (struct array){0};
    if (!option_is_given(run, "border")) {
        return DPOT_OK;
    }
    const dpot_status status = load_array(run, "border", border);
    if (status == DPOT_OK && border->n_cols != 2) {
        const size_t n_cols = border->n_cols;
        array_release(border);
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--border %s has %zu column%s: give latitude and longitude",
                              option_text(run, "border"), n_cols, DPOT_S(n_cols));
    }
    return status;
}

dpot_status plot_finish(struct run *run, dpot_status status, const struct picture_caption *caption,
                        const struct picture_size *size)
{
    picture_release_fonts(); /* a run draws a single picture, on one thread */
    if (status == DPOT_OK) {
        run_put_text(run, "out", caption->path);
        run_put_integer(run, "width", size->width);
        run_put_integer(run, "height", size->height);
    }
    return status;
}

/* ---- curves ---- */

static const struct option curves_options[] = {
    {"in", "F",
     "columns x, y1, y2, ..., or one column of y over 0, 1, 2, ...; named by the header of a "
     ".csv"},
    FORM_OPTIONS,
    {"log-x", NULL, "logarithmic horizontal axis"},
    {"log-y", NULL, "logarithmic vertical axis"},
    {"from-zero", NULL, "include 0 in the vertical axis"},
    {"error-bars", NULL, "columns x, y1, e1, y2, e2, ...: bars from y - e to y + e"},
    PLOT_AXIS_OPTIONS,
    PLOT_CAPTION_OPTIONS,
    {NULL, NULL, NULL},
};

struct names {
    char texts[CURVES_COLUMNS_MAX][ARRAY_NAME_MAX];
    const char *pointers[CURVES_COLUMNS_MAX];
};

/* Copies the names of the columns. */
static void copy_names(const struct array *table, struct names *names)
{
    for (size_t j = 0; j < CURVES_COLUMNS_MAX; j++) {
        const bool is_named = table->names && j < table->n_cols;
        if (is_named) {
            memcpy(names->texts[j], table->names[j], sizeof names->texts[j]);
        }
        names->pointers[j] = is_named ? names->texts[j] : NULL;
    }
}

static dpot_status draw_curves(struct run *run, const struct picture_caption *caption,
                               const struct array *table, const struct names *names)
{
    struct picture_size size = {0};
    size_t n_left_out = 0;
    const struct curves curves = {.caption = *caption,
                                  .n_rows = table->n_rows,
                                  .n_cols = table->n_cols,
                                  .values = table->values,
                                  .names = names->pointers,
                                  .is_log_x = option_is_given(run, "log-x"),
                                  .is_log_y = option_is_given(run, "log-y"),
                                  .has_error_bars = option_is_given(run, "error-bars"),
                                  .is_from_zero = option_is_given(run, "from-zero")};
    dpot_status status = curves_draw(&curves, &size, &n_left_out, &run->error);
    status = plot_finish(run, status, caption, &size);
    if (status != DPOT_OK) {
        return status;
    }
    if (n_left_out > 0) {
        run_warn(
            run,
            n_left_out == 1
                ? "%zu value is not finite or, on a logarithmic axis, not above 0: it is a gap "
                  "in the curves"
                : "%zu values are not finite or, on a logarithmic axis, not above 0: they are "
                  "gaps in the curves",
            n_left_out);
    }
    run_put_integer(run, "left_out", n_left_out);
    return DPOT_OK;
}

/* A single column, such as weights on a line or ring, is drawn over 0, 1, 2, ... */
static dpot_status number_rows(struct run *run, struct array *table, struct names *names)
{
    struct array numbered = {0};
    if (table->n_cols != 1 || option_is_given(run, "error-bars")) {
        return DPOT_OK;
    }
    const dpot_status status = array_init(&numbered, table->n_rows, 2, false);
    if (status != DPOT_OK) {
        return dpot_error_set(&run->error, status, "out of memory for %zu points", table->n_rows);
    }
    for (size_t i = 0; i < table->n_rows; i++) {
        numbered.values[2 * i] = (double)i;
        numbered.values[2 * i + 1] = table->values[i];
    }
    const char *name = names->pointers[0];
    names->pointers[1] = name && *name ? name : "value";
    names->pointers[0] = "number";
    array_release(table);
    *table = numbered;
    return DPOT_OK;
}

static dpot_status run_curves(struct run *run)
{
    struct picture_caption caption;
    struct array table = {0};
    const struct array_form form = load_form_options(run);
    struct names names;
    const char *text = NULL;
    dpot_status status = option_require(run, "in", "a table of curves", &text);
    if (status == DPOT_OK) {
        status = option_excludes(run, "log-y", "from-zero", "a logarithm has no 0");
    }
    if (status == DPOT_OK) {
        status = plot_read_caption(run, &caption);
    }
    if (status == DPOT_OK) {
        status = load_form(run, "in", &form, &table);
    }
    if (status == DPOT_OK) {
        copy_names(&table, &names);
        status = number_rows(run, &table, &names);
    }
    if (status == DPOT_OK) {
        status = draw_curves(run, &caption, &table, &names);
    }
    array_release(&table);
    return status;
}

const struct command command_plot_curves = {
    .name = "plot curves",
    .summary = "draw curves over a common x, such as the convergence of a solver",
    .details =
        "Values that are not finite, and values not above 0 on a logarithmic axis, are gaps. With\n"
        "--error-bars each curve has a second column with half the length of its bars (e.g. a\n"
        "standard deviation); a value that is not finite draws no bar.\n"
        "Keys: out, width, height (pixels), left_out (values that are gaps).",
    .example = "dpot plot curves --in residual.csv --log-y --title \"Sinkhorn\" --out residual.svg",
    .options = curves_options,
    .run = run_curves,
};

/* ---- sheet ---- */

static const struct option sheet_options[] = {
    {"in", "F", "images (n, h*w), one per row"},
    {"shape", "HxW", "rows and columns of an image"},
    {"per-row", "N 1..20000", "images side by side (default: a page of good proportions)"},
    {"rows", "a:b", "images a to b - 1, counted from 0 (default: all)"},
    {"range", "lo,hi", "values of black and white, to compare several sheets"},
    {"value-label", "T", "name of the grey scale, with its unit"},
    PLOT_CAPTION_OPTIONS,
    {NULL, NULL, NULL},
};

/* Selects the images of --rows. */
static dpot_status choose_images(struct run *run, struct sheet *sheet)
{
    size_t rows[2] = {0, sheet->n};
    const dpot_status status = slice_read(run, "rows", sheet->n, rows);
    if (status == DPOT_OK) {
        sheet->images += rows[0] * sheet->height * sheet->width;
        sheet->n = rows[1] - rows[0];
    }
    return status;
}

/* A single image may also be a column, or an array (h, w). */
static dpot_status settle_images(struct run *run, const struct array *images, struct sheet *sheet)
{
    const size_t size = sheet->height * sheet->width;
    const bool is_single = images->n_rows * images->n_cols == size &&
                           (images->is_vector || images->n_rows == sheet->height);
    if (!is_single && images->n_cols != size) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--in %s has %zu columns for images of %zu x %zu: they must agree",
                              option_text(run, "in"), images->n_cols, sheet->height, sheet->width);
    }
    sheet->n = is_single ? 1 : images->n_rows;
    sheet->images = images->values;
    return choose_images(run, sheet);
}

static dpot_status read_sheet_options(struct run *run, double range[2], struct sheet *sheet)
{
    const char *text = NULL;
    size_t shape[2] = {0, 0};
    uint64_t n_columns = 0;
    bool is_given = false;
    dpot_status status = option_require(run, "in", "a file of images", &text);
    if (status == DPOT_OK) {
        status = option_require(run, "shape", "rows and columns of an image, as in 28x28", &text);
    }
    if (status == DPOT_OK) {
        status = plot_read_shape(run, "shape", shape, &is_given);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "per-row", 1, PICTURE_SIDE_MAX, &n_columns);
    }
    sheet->height = shape[0];
    sheet->width = shape[1];
    sheet->n_columns = (size_t)n_columns;
    if (status == DPOT_OK) {
        status = plot_read_range(run, range, &sheet->range);
    }
    return status == DPOT_OK ? plot_read_caption(run, &sheet->caption) : status;
}

static dpot_status run_sheet(struct run *run)
{
    struct sheet sheet = {0};
    struct array images = {0};
    struct picture_size size = {0};
    double range[2] = {0, 0};
    dpot_status status = read_sheet_options(run, range, &sheet);
    if (status == DPOT_OK) {
        status = load_finite(run, "in", &images);
    }
    if (status == DPOT_OK) {
        status = settle_images(run, &images, &sheet);
    }
    if (status == DPOT_OK) {
        status = sheet_draw(&sheet, &size, &run->error);
        status = plot_finish(run, status, &sheet.caption, &size);
    }
    array_release(&images);
    return status;
}

const struct command command_plot_sheet = {
    .name = "plot sheet",
    .summary = "draw a sheet of grey images, such as a generator's samples",
    .details =
        "Without --range black is 0 (or the smallest value, if negative) and white the largest\n"
        "value; with it values beyond its ends are black or white. --rows selects images.\n"
        "Keys: out, width, height (pixels).",
    .example = "dpot plot sheet --in samples.npy --shape 28x28 --per-row 10 --out samples.png",
    .options = sheet_options,
    .run = run_sheet,
};
