/* dpot plot heatmap and dpot plot points: measures on a grid, in the plane, on a map. */
#include "picture/heatmap.h"
#include "picture/points.h"
#include "tool/picture/plot.h"
#include "tool/shared/campaign_file.h"
#include "tool/shared/commands.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"

#include <string.h>

#define TITLES_BYTES_MAX 2048

/* ---- heat maps ---- */

static const struct option heatmap_options[] = {
    {"in", "F", "weights of the cells (R*C,), first coordinate slowest, or (R, C)"},
    {"in2", "F", "a second heat map under the same colour scale"},
    {"in3", "F", "a third"},
    {"in4", "F", "a fourth"},
    {"in5", "F", "a fifth"},
    {"in6", "F", "a sixth"},
    {"titles", "\"A|B\"", "titles of the heat maps"},
    {"grid", "RxC", "rows and columns of cells"},
    {"lo", "a,b", "lowest coordinates of the grid"},
    {"hi", "a,b", "highest coordinates of the grid"},
    {"campaign", "FILE", "take grid and metric from this campaign"},
    PLOT_MAP_OPTIONS,
    PLOT_AXIS_OPTIONS,
    PLOT_CAPTION_OPTIONS,
    {NULL, NULL, NULL},
};

static const char *const inputs[HEATMAP_PANELS_MAX] = {"in", "in2", "in3", "in4", "in5", "in6"};

struct heatmap_job {
    struct run *run;
    struct heatmap heatmap;
    struct array arrays[HEATMAP_PANELS_MAX];
    struct array border;
    double range[2];
    char titles[TITLES_BYTES_MAX]; /* split at the bars */
};

/* Counts the inputs, which must be in, in2, ... without a gap. */
static dpot_status count_inputs(struct heatmap_job *job)
{
    struct run *run = job->run;
    const char *text = NULL;
    const dpot_status status = option_require(run, "in", "a file of weights", &text);
    for (size_t i = 0; status == DPOT_OK && i < HEATMAP_PANELS_MAX; i++) {
        if (!option_is_given(run, inputs[i])) {
            continue;
        }
        if (i != job->heatmap.n_panels) {
            return RUN_USAGE(run, "--%s is given without --%s: number the inputs in sequence",
                             inputs[i], inputs[i - 1]);
        }
        job->heatmap.n_panels++;
    }
    return status;
}

static dpot_status split_titles(struct heatmap_job *job)
{
    const char *text = option_text(job->run, "titles");
    size_t n = 0;
    if (!text) {
        return DPOT_OK;
    }
    if (strlen(text) >= sizeof job->titles) {
        return RUN_USAGE(job->run, "--titles has %zu bytes: give at most %d", strlen(text),
                         TITLES_BYTES_MAX - 1);
    }
    memcpy(job->titles, text, strlen(text) + 1);
    for (char *rest = job->titles; rest; n++) {
        char *bar = strchr(rest, '|');
        if (n < HEATMAP_PANELS_MAX) {
            job->heatmap.panel_titles[n] = rest;
        }
        if (bar) {
            *bar = '\0';
        }
        rest = bar ? bar + 1 : NULL;
    }
    if (n != job->heatmap.n_panels) {
        return RUN_USAGE(job->run,
                         "--titles has %zu title%s for %zu heat map%s: separate them by |", n,
                         DPOT_S(n), job->heatmap.n_panels, DPOT_S(job->heatmap.n_panels));
    }
    return DPOT_OK;
}

/* --grid with --lo and --hi, or --campaign. */
static dpot_status read_grid(struct heatmap_job *job)
{
    struct run *run = job->run;
    struct heatmap *h = &job->heatmap;
    const char *const from_campaign[] = {"grid", "lo", "hi"};
    size_t shape[2] = {0, 0};
    bool has_grid = false, has_lo = false, has_hi = false;
    dpot_status status = option_either(run, "grid", "campaign");
    for (size_t i = 0; status == DPOT_OK && i < 3; i++) {
        status = option_excludes(run, "campaign", from_campaign[i], "the campaign has the grid");
    }
    if (status == DPOT_OK) {
        status = plot_read_shape(run, "grid", shape, &has_grid);
    }
    if (status == DPOT_OK) {
        status = plot_read_pair(run, "lo", h->lo, &has_lo);
    }
    if (status == DPOT_OK) {
        status = plot_read_pair(run, "hi", h->hi, &has_hi);
    }
    if (status == DPOT_OK && has_lo != has_hi) {
        status = RUN_USAGE(run, "--%s is given without --%s: give both corners of the grid",
                           has_lo ? "lo" : "hi", has_lo ? "hi" : "lo");
    }
    h->n_rows = shape[0];
    h->n_cols = shape[1];
    h->has_box = has_lo && has_hi;
    h->is_map = plot_is_map(run);
    if (status == DPOT_OK && h->is_map && has_grid && !h->has_box) {
        status = RUN_USAGE(run, "a map needs --lo and --hi: give the lowest and the highest "
                                "latitude and longitude");
    }
    h->is_log = option_is_given(run, "log");
    return status;
}

/* How to draw weights of output points that are no grid. */
static const char *advice_for(const struct dpot_domain *output)
{
    return output->dim == 1   ? " but lie on a line or ring: draw the weights with dpot plot curves"
           : output->dim == 2 ? ": draw them with dpot plot points"
                              : ": no picture shows them, look at the numbers";
}

static dpot_status load_grid(struct heatmap_job *job)
{
    struct run *run = job->run;
    struct heatmap *h = &job->heatmap;
    const char *path = option_text(run, "campaign");
    struct campaign_file file;
    if (!path) {
        return DPOT_OK;
    }
    dpot_status status = campaign_file_load(run, path, &file);
    if (status != DPOT_OK) {
        return status;
    }
    const struct dpot_domain *output = &file.campaign.output;
    if (output->type != DPOT_DOMAIN_GRID || output->dim != 2) {
        status = dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "the output points of campaign %.200s are no grid of two "
                                "coordinates%s",
                                path, advice_for(output));
    } else {
        h->n_rows = output->shape[0];
        h->n_cols = output->shape[1];
        memcpy(h->lo, output->lo, sizeof h->lo);
        memcpy(h->hi, output->hi, sizeof h->hi);
        h->has_box = true;
        h->is_map = h->is_map || file.campaign.metric.id == DPOT_METRIC_HAVERSINE;
    }
    campaign_file_release(&file);
    return status;
}

static dpot_status load_values(struct heatmap_job *job)
{
    struct run *run = job->run;
    struct heatmap *h = &job->heatmap;
    const size_t n = h->n_rows * h->n_cols;
    dpot_status status = DPOT_OK;
    for (size_t p = 0; status == DPOT_OK && p < h->n_panels; p++) {
        struct array *a = &job->arrays[p];
        status = load_finite(run, inputs[p], a);
        const bool is_matrix = a->n_rows == h->n_rows && a->n_cols == h->n_cols;
        const bool is_list = a->n_rows * a->n_cols == n && (a->n_rows == 1 || a->n_cols == 1);
        if (status == DPOT_OK && !is_matrix && !is_list) {
            status = dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                    "--%s %s has shape (%zu, %zu) for %zu x %zu cells: give (%zu,) "
                                    "or (%zu, %zu)",
                                    inputs[p], option_text(run, inputs[p]), a->n_rows, a->n_cols,
                                    h->n_rows, h->n_cols, n, h->n_rows, h->n_cols);
        }
        h->values[p] = a->values;
    }
    return status;
}

static dpot_status run_heatmap(struct run *run)
{
    struct heatmap_job job = {.run = run};
    struct picture_size size = {0};
    dpot_status status = count_inputs(&job);
    if (status == DPOT_OK) {
        status = split_titles(&job);
    }
    if (status == DPOT_OK) {
        status = plot_read_caption(run, &job.heatmap.caption);
    }
    if (status == DPOT_OK) {
        status = read_grid(&job);
    }
    if (status == DPOT_OK) {
        status = plot_read_range(run, job.range, &job.heatmap.range);
    }
    if (status == DPOT_OK) {
        status = load_grid(&job);
    }
    if (status == DPOT_OK) {
        status = load_values(&job);
    }
    if (status == DPOT_OK) {
        status = plot_load_border(run, &job.border);
        job.heatmap.border = job.border.values;
        job.heatmap.n_border = job.border.n_rows;
    }
    if (status == DPOT_OK) {
        status = heatmap_draw(&job.heatmap, &size, &run->error);
        status = plot_finish(run, status, &job.heatmap.caption, &size);
    }
    for (size_t p = 0; p < HEATMAP_PANELS_MAX; p++) {
        array_release(&job.arrays[p]);
    }
    array_release(&job.border);
    return status;
}

const struct command command_plot_heatmap = {
    .name = "plot heatmap",
    .summary = "draw weights on a grid or map, several side by side under one colour scale",
    .details =
        "Rows are the first coordinate: the first row is at the bottom when the grid has\n"
        "coordinates (--lo and --hi, or --campaign), on top otherwise. Cells without weight are\n"
        "grey. A campaign with the metric haversine gives a map. For weights on a line or a ring\n"
        "use dpot plot curves. Without --value-label the colour bar is labelled weight if every\n"
        "file sums to 1, value otherwise. --range a,b fixes the ends of the colour scale, to\n"
        "compare several pictures; the bar marks values beyond them.\n"
        "Keys: out, width, height (pixels).",
    .example = "dpot plot heatmap --campaign census.json --in truth.csv --in2 estimate.csv "
               "--titles \"truth|estimate\" --border border.csv --out map.png",
    .options = heatmap_options,
    .run = run_heatmap,
};

/* ---- points ---- */

static const struct option points_options[] = {
    {"in", "F", "points (n, 2): x, y, or latitude, longitude on a map"},
    FORM_OPTIONS,
    {"weights", "F", "their weights (n,), shown as colour"},
    PLOT_MAP_OPTIONS,
    PLOT_AXIS_OPTIONS,
    PLOT_CAPTION_OPTIONS,
    {NULL, NULL, NULL},
};

static dpot_status load_points(struct run *run, struct array *array)
{
    const struct array_form form = load_form_options(run);
    const dpot_status status = load_finite_form(run, "in", &form, array);
    if (status == DPOT_OK && array->n_cols != 2) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--in %s has %zu column%s: points to draw have two coordinates",
                              option_text(run, "in"), array->n_cols, DPOT_S(array->n_cols));
    }
    return status;
}

static dpot_status load_point_weights(struct run *run, size_t n, struct array *array)
{
    if (!option_is_given(run, "weights")) {
        return DPOT_OK;
    }
    const dpot_status status = load_finite(run, "weights", array);
    const bool is_list = array->n_rows == 1 || array->n_cols == 1;
    if (status == DPOT_OK && (!is_list || array->n_rows * array->n_cols != n)) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--weights %s has shape (%zu, %zu) for %zu point%s: give (%zu,)",
                              option_text(run, "weights"), array->n_rows, array->n_cols, n,
                              DPOT_S(n), n);
    }
    return status;
}

static dpot_status read_points_options(struct run *run, struct points *points)
{
    const char *text = NULL;
    const char *const of_weights[] = {"log", "range", "value-label"};
    dpot_status status = option_require(run, "in", "a file of points", &text);
    for (size_t i = 0; status == DPOT_OK && i < 3; i++) {
        if (option_is_given(run, of_weights[i]) && !option_is_given(run, "weights")) {
            status = RUN_USAGE(run, "--%s is about the colours of weights: give --weights too",
                               of_weights[i]);
        }
    }
    points->is_map = plot_is_map(run);
    points->is_log = option_is_given(run, "log");
    return status == DPOT_OK ? plot_read_caption(run, &points->caption) : status;
}

static dpot_status run_points(struct run *run)
{
    struct points points = {0};
    double range[2];
    struct array xy = {0}, weights = {0}, border = {0};
    struct picture_size size = {0};
    dpot_status status = read_points_options(run, &points);
    if (status == DPOT_OK) {
        status = plot_read_range(run, range, &points.range);
    }
    if (status == DPOT_OK) {
        status = load_points(run, &xy);
    }
    if (status == DPOT_OK) {
        status = load_point_weights(run, xy.n_rows, &weights);
    }
    if (status == DPOT_OK) {
        status = plot_load_border(run, &border);
    }
    if (status == DPOT_OK) {
        points.n = xy.n_rows;
        points.points = xy.values;
        points.weights = weights.values;
        points.border = border.values;
        points.n_border = border.n_rows;
        status = points_draw(&points, &size, &run->error);
        status = plot_finish(run, status, &points.caption, &size);
    }
    array_release(&xy);
    array_release(&weights);
    array_release(&border);
    return status;
}

const struct command command_plot_points = {
    .name = "plot points",
    .summary = "draw points in the plane or on a map, coloured by weight",
    .details =
        "Both coordinates are drawn to the same scale. Without --weights all points are blue;\n"
        "with them points of weight 0 are grey.\n"
        "Keys: out, width, height (pixels).",
    .example = "dpot plot points --in towns.csv --weights people.csv --border border.csv "
               "--out towns.png",
    .options = points_options,
    .run = run_points,
};
