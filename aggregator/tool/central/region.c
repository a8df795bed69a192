#include "tool/central/region.h"

#include "base/alloc.h"
#include "central/coreset.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/vector_set.h"

#include <math.h>
#include <string.h>

/* ---- the border ---- */

/* Finds the two columns of the border that hold the coordinates. */
static dpot_status choose_columns(struct run *run, const struct records *records,
                                  const struct columns *columns, size_t xy[COLUMNS_MAX])
{
    size_t n = 0;
    const dpot_status status = columns_read_list(run, columns, "border-columns", xy, &n);
    if (status != DPOT_OK || (n == 2 && xy[0] != xy[1])) {
        return status;
    }
    if (option_is_given(run, "border-columns")) {
        return RUN_USAGE(run, "--border-columns is %.40s: give two different columns",
                         option_text(run, "border-columns"));
    }
    const struct columns *data = &records->columns;
    if (data->n_names > 0 &&
        columns_find(columns, data->names[records->coordinates[0]], &xy[0]) == 1 &&
        columns_find(columns, data->names[records->coordinates[1]], &xy[1]) == 1 &&
        xy[0] != xy[1]) {
        return DPOT_OK;
    }
    if (columns->n == 2) {
        xy[0] = 0;
        xy[1] = 1;
        return DPOT_OK;
    }
    return RUN_USAGE(run,
                     "--border %s has %zu columns, and not the names of the coordinates: say with "
                     "--border-columns X,Y which they are",
                     option_text(run, "border"), columns->n);
}

static dpot_status make_border(struct run *run, const struct array *array,
                               const struct columns *columns, const size_t *xy,
                               struct region *region)
{
    const size_t n = array->n_rows;
    size_t ring = 0;
    const size_t n_rings = columns_find(columns, "ring", &ring);
    const bool has_rings = n_rings > 0 && ring != xy[0] && ring != xy[1];
    if (has_rings && n_rings > 1) {
        return RUN_USAGE(run, "--border %s has %zu columns named ring: rename all but one",
                         option_text(run, "border"), n_rings);
    }
    double *vertices = dpot_alloc_array(NULL, 2 * n, sizeof *vertices);
    double *rings = dpot_alloc_array(NULL, n, sizeof *rings);
    dpot_status status = vertices && rings ? DPOT_OK : DPOT_ERR_MEMORY;
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        const double *row = array->values + i * array->n_cols;
        vertices[2 * i] = row[xy[0]];
        vertices[2 * i + 1] = row[xy[1]];
        rings[i] = has_rings ? row[ring] : 0;
    }
    if (status == DPOT_OK) {
        status = polygon_init(&region->border, vertices, rings, n, &run->error);
        region->has_border = status == DPOT_OK;
        if (status != DPOT_OK) {
            status =
                dpot_error_prefix(&run->error, status, "--border %s", option_text(run, "border"));
        }
    }
    dpot_free_array(NULL, vertices, 2 * n, sizeof *vertices);
    dpot_free_array(NULL, rings, n, sizeof *rings);
    return status;
}

static dpot_status load_border(struct run *run, const struct records *records,
                               struct region *region)
{
    struct array array = {0};
    struct columns columns = {0};
    size_t xy[COLUMNS_MAX];
    if (!option_is_given(run, "border")) {
        return option_is_given(run, "border-columns")
                   ? RUN_USAGE(run, "--border-columns is given without --border")
                   : DPOT_OK;
    }
    if (records->dim != 2) {
        return RUN_USAGE(run,
                         "--border is a line in the plane, and the records have %zu coordinate%s: "
                         "leave it out or name two with --columns",
                         records->dim, DPOT_S(records->dim));
    }
    dpot_status status = load_finite(run, "border", &array);
    if (status == DPOT_OK) {
        status = columns_init(run, "border", &array, &columns);
    }
    if (status == DPOT_OK) {
        status = choose_columns(run, records, &columns, xy);
    }
    if (status == DPOT_OK) {
        status = make_border(run, &array, &columns, xy, region);
    }
    columns_release(&columns);
    array_release(&array);
    return status;
}

/* ---- the box ---- */

static dpot_status take_box(struct run *run, const struct spec_vector_set *set, const char *option,
                            bool takes_balls, struct region *region)
{
    const bool is_ball = takes_balls && set->set == DPOT_VECTOR_L2_BALL;
    if (set->set != DPOT_VECTOR_BOX && !is_ball) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--domain is a set of type %s: give a box%s", set->type,
                              takes_balls ? " or an l2_ball" : "");
    }
    if (set->dim != region->dim) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--domain has %u coordinate%s and --%s has %zu: they must agree",
                              set->dim, DPOT_S(set->dim), option, region->dim);
    }
    for (size_t a = 0; a < region->dim && is_ball; a++) {
        region->lo[a] = -set->radius;
        region->hi[a] = region->radius = set->radius;
    }
    for (size_t a = 0; a < region->dim && !is_ball; a++) {
        region->lo[a] = set->lo[set->n_sides == 1 ? 0 : a];
        region->hi[a] = set->hi[set->n_sides == 1 ? 0 : a];
    }
    return DPOT_OK;
}

static dpot_status load_box(struct run *run, const char *option, bool takes_balls,
                            struct region *region)
{
    const char *text = option_text(run, "domain");
    struct spec_vector_set set = {.dim = 0};
    if (!text) {
        memcpy(region->lo, region->border.lo, sizeof region->border.lo);
        memcpy(region->hi, region->border.hi, sizeof region->border.hi);
        return DPOT_OK;
    }
    dpot_status status = vector_set_read(run, text, &set);
    if (status == DPOT_OK) {
        status = take_box(run, &set, option, takes_balls, region);
    }
    spec_vector_set_release(&set);
    return status;
}

static struct partition box_of(const struct region *region)
{
    return (struct partition){.dim = region->dim, .depth = 1, .lo = region->lo, .hi = region->hi};
}

static dpot_status check_region(struct run *run, const struct region *region)
{
    const struct partition box = box_of(region);
    dpot_status status = partition_check(&box, &run->error);
    if (status == DPOT_OK && region->has_border &&
        !polygon_meets(&region->border, region->lo, region->hi)) {
        status = dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                "--border %s lies outside of --domain: nothing could be placed; "
                                "are its columns in the order of the coordinates?",
                                option_text(run, "border"));
    }
    return status;
}

static dpot_status refuse_missing(struct run *run)
{
    return RUN_USAGE(run, "there is no --domain: give the public box of the records, which must "
                          "not come from the data");
}

static dpot_status make_region(struct run *run, size_t dim, struct region *region)
{
    *region = (struct region){.dim = dim};
    if (!option_is_given(run, "domain") && !option_is_given(run, "border")) {
        return refuse_missing(run);
    }
    region->lo = dpot_alloc_array(NULL, dim, sizeof *region->lo);
    region->hi = dpot_alloc_array(NULL, dim, sizeof *region->hi);
    return region->lo && region->hi ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status load_region(struct run *run, struct records *records, bool takes_balls,
                               struct region *region)
{
    dpot_status status = make_region(run, records->dim, region);
    if (status == DPOT_OK) {
        status = load_border(run, records, region);
    }
    if (status == DPOT_OK) {
        status = load_box(run, "data", takes_balls, region);
    }
    if (status == DPOT_OK) {
        status = check_region(run, region);
    }
    if (status == DPOT_OK) {
        region_fill(region, records->points, records->n_rows);
    }
    return status;
}

dpot_status region_load(struct run *run, struct records *records, struct region *region)
{
    return load_region(run, records, false, region);
}

dpot_status region_load_ball(struct run *run, struct records *records, struct region *region)
{
    return load_region(run, records, true, region);
}

dpot_status region_load_box(struct run *run, size_t dim, const char *option, struct region *region)
{
    dpot_status status = make_region(run, dim, region);
    if (status == DPOT_OK) {
        status = load_box(run, option, false, region);
    }
    return status == DPOT_OK ? check_region(run, region) : status;
}

dpot_status region_read_dim(struct run *run, size_t *dim)
{
    const char *text = option_text(run, "domain");
    struct spec_vector_set set = {.dim = 0};
    *dim = 2; /* --border */
    if (!text) {
        return option_is_given(run, "border") ? DPOT_OK : refuse_missing(run);
    }
    const dpot_status status = vector_set_read(run, text, &set);
    *dim = set.dim;
    spec_vector_set_release(&set);
    return status;
}

int64_t region_n_outside(const struct region *region, const double *points, const int64_t *counts,
                         size_t n)
{
    const struct partition box = box_of(region);
    return coreset_n_outside(&box, points, counts, n);
}

void region_fill(const struct region *region, double *points, size_t n)
{
    for (size_t i = 0; i < n * region->dim; i++) {
        const double lo = region->lo[i % region->dim], hi = region->hi[i % region->dim];
        const double value = isnan(points[i]) ? 0 : points[i];
        points[i] = isfinite(points[i]) ? points[i] : value < lo ? lo : value > hi ? hi : value;
    }
}

void region_warn_outside(const struct run *run, int64_t n_outside)
{
    if (n_outside > 0 && option_is_given(run, "simulation")) {
        run_warn(run,
                 "%lld record%s outside of the public box count%s at its nearest face (the number "
                 "is private: it is reported in simulations only)",
                 (long long)n_outside, DPOT_S(n_outside), n_outside == 1 ? "s" : "");
    }
}

void region_release(struct region *region)
{
    dpot_free_array(NULL, region->lo, region->dim, sizeof *region->lo);
    dpot_free_array(NULL, region->hi, region->dim, sizeof *region->hi);
    polygon_release(&region->border);
    *region = (struct region){0};
}
