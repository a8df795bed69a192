#include "central/polygon.h"

#include "base/alloc.h"

#include <math.h>

#define STRIPS_MAX ((size_t)4096)
#define NUDGE 1e-6 /* relative to the border's length within a box */

/* ---- construction ---- */

static void add_edge(struct polygon *polygon, const double *a, const double *b)
{
    if (a[0] != b[0] || a[1] != b[1]) {
        polygon->edges[polygon->n_edges++] = (struct polygon_edge){{a[0], b[0]}, {a[1], b[1]}};
    }
}

static dpot_status check_vertices(const double *vertices, size_t n, struct dpot_error *error)
{
    if (n < 3 || n > POLYGON_VERTICES_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "a border of %zu point%s: give 3 to %zu", n,
                              DPOT_S(n), POLYGON_VERTICES_MAX);
    }
    for (size_t i = 0; i < 2 * n; i++) {
        if (!isfinite(vertices[i])) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "point %zu of the border is %g: give finite numbers", i / 2 + 1,
                                  vertices[i]);
        }
    }
    return DPOT_OK;
}

/* The sum of the areas of the triangles between the first vertex and the edges, in absolute values:
 * 0 if all vertices are on one line, and no cancellation if the ring crosses itself. */
static double ring_spread(const struct polygon_edge *edges, size_t n)
{
    double twice = 0;
    for (size_t i = 0; i < n; i++) {
        const struct polygon_edge *e = &edges[i];
        /* Relative to the first vertex, so that large coordinates do not cancel. */
        twice += fabs((e->x[0] - edges->x[0]) * (e->y[1] - edges->y[0]) -
                      (e->x[1] - edges->x[0]) * (e->y[0] - edges->y[0]));
    }
    return twice / 2;
}

/* Adds one ring, vertices [begin, end). */
static dpot_status add_ring(struct polygon *polygon, const double *vertices, size_t begin,
                            size_t end, struct dpot_error *error)
{
    const size_t n_before = polygon->n_edges;
    for (size_t i = begin; i < end; i++) {
        const size_t next = i + 1 < end ? i + 1 : begin;
        add_edge(polygon, vertices + 2 * i, vertices + 2 * next);
    }
    const size_t n = polygon->n_edges - n_before;
    if (n < 3 || !(ring_spread(polygon->edges + n_before, n) > 0)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the ring of points %zu to %zu of the border has no area: give at "
                              "least 3 different points that are not on one line",
                              begin + 1, end);
    }
    return DPOT_OK;
}

static dpot_status add_rings(struct polygon *polygon, const double *vertices, const double *rings,
                             size_t n, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    for (size_t begin = 0; status == DPOT_OK && begin < n;) {
        size_t end = begin + 1;
        while (end < n && (!rings || rings[end] == rings[begin])) {
            end++;
        }
        status = add_ring(polygon, vertices, begin, end, error);
        begin = end;
    }
    return status;
}

static void find_box(struct polygon *polygon)
{
    for (size_t axis = 0; axis < 2; axis++) {
        polygon->lo[axis] = HUGE_VAL;
        polygon->hi[axis] = -HUGE_VAL;
    }
    for (size_t i = 0; i < polygon->n_edges; i++) {
        /* every vertex is the start of an edge */
        const struct polygon_edge *e = &polygon->edges[i];
        polygon->lo[0] = fmin(polygon->lo[0], e->x[0]);
        polygon->hi[0] = fmax(polygon->hi[0], e->x[0]);
        polygon->lo[1] = fmin(polygon->lo[1], e->y[0]);
        polygon->hi[1] = fmax(polygon->hi[1], e->y[0]);
    }
}

/* The strip of a height; heights outside of the box map to the first or last strip. It is monotone
 * in y, which is sufficient to find every edge. */
static size_t strip_of(const struct polygon *polygon, double y)
{
    const double share = (y - polygon->lo[1]) / (polygon->hi[1] - polygon->lo[1]);
    const double strip = floor(share * (double)polygon->n_strips);
    return strip >= (double)polygon->n_strips ? polygon->n_strips - 1
           : strip > 0                        ? (size_t)strip
                                              : 0;
}

static size_t lowest_strip(const struct polygon *polygon, const struct polygon_edge *e)
{
    return strip_of(polygon, fmin(e->y[0], e->y[1]));
}

static size_t highest_strip(const struct polygon *polygon, const struct polygon_edge *e)
{
    return strip_of(polygon, fmax(e->y[0], e->y[1]));
}

static dpot_status sort_into_strips(struct polygon *polygon, struct dpot_error *error)
{
    polygon->n_strips = polygon->n_edges < STRIPS_MAX ? polygon->n_edges : STRIPS_MAX;
    polygon->first = dpot_alloc_array(NULL, polygon->n_strips + 1, sizeof *polygon->first);
    if (!polygon->first) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a border");
    }
    for (size_t i = 0; i < polygon->n_edges; i++) {
        const struct polygon_edge *e = &polygon->edges[i];
        for (size_t t = lowest_strip(polygon, e); t <= highest_strip(polygon, e); t++) {
            polygon->first[t + 1]++;
        }
    }
    for (size_t t = 0; t < polygon->n_strips; t++) {
        polygon->first[t + 1] += polygon->first[t];
    }
    const size_t n_members = polygon->first[polygon->n_strips];
    polygon->members = dpot_alloc_array(NULL, n_members, sizeof *polygon->members);
    if (!polygon->members) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a border");
    }
    /* Filled backwards, which leaves each strip's start in first[t + 1]. */
    for (size_t i = polygon->n_edges; i-- > 0;) {
        const struct polygon_edge *e = &polygon->edges[i];
        for (size_t t = lowest_strip(polygon, e); t <= highest_strip(polygon, e); t++) {
            polygon->members[--polygon->first[t + 1]] = (uint32_t)i;
        }
    }
    for (size_t t = 0; t < polygon->n_strips; t++) {
        polygon->first[t] = polygon->first[t + 1];
    }
    polygon->first[polygon->n_strips] = n_members;
    return DPOT_OK;
}

void polygon_release(struct polygon *polygon)
{
    dpot_free_array(NULL, polygon->edges, polygon->cap, sizeof *polygon->edges);
    dpot_free_array(NULL, polygon->members, polygon->first ? polygon->first[polygon->n_strips] : 0,
                    sizeof *polygon->members);
    dpot_free_array(NULL, polygon->first, polygon->n_strips + 1, sizeof *polygon->first);
    *polygon = (struct polygon){0};
}

/* ---- queries ---- */

bool polygon_holds(const struct polygon *polygon, const double point[2])
{
    bool is_inside = false;
    if (!(point[1] >= polygon->lo[1] && point[1] <= polygon->hi[1])) {
        return false;
    }
    const size_t t = strip_of(polygon, point[1]);
    for (size_t k = polygon->first[t]; k < polygon->first[t + 1]; k++) {
        const struct polygon_edge *e = &polygon->edges[polygon->members[k]];
        if ((e->y[0] > point[1]) != (e->y[1] > point[1])) {
            const double share = (point[1] - e->y[0]) / (e->y[1] - e->y[0]);
            is_inside ^= point[0] < e->x[0] + share * (e->x[1] - e->x[0]);
        }
    }
    return is_inside;
}

/* Restricts the range of t to lo <= a + t (b - a) <= hi. */
static bool clip(double a, double b, double lo, double hi, double range[2])
{
    if (a == b) {
        return a >= lo && a <= hi;
    }
    const double t0 = (lo - a) / (b - a), t1 = (hi - a) / (b - a);
    range[0] = fmax(range[0], fmin(t0, t1));
    range[1] = fmin(range[1], fmax(t0, t1));
    return range[0] <= range[1];
}

/* The part of an edge within the box (Liang and Barsky). */
static bool clip_edge(const struct polygon_edge *e, const double lo[2], const double hi[2],
                      double range[2])
{
    range[0] = 0;
    range[1] = 1;
    return clip(e->x[0], e->x[1], lo[0], hi[0], range) &&
           clip(e->y[0], e->y[1], lo[1], hi[1], range);
}

/* The edge with the longest part in the box; NULL: no edge touches it. range NULL: any edge that
 * touches it. */
static const struct polygon_edge *find_edge(const struct polygon *polygon, const double lo[2],
                                            const double hi[2], double range[2])
{
    const struct polygon_edge *found = NULL;
    double longest = -1, part[2];
    for (size_t k = polygon->first[strip_of(polygon, lo[1])];
         k < polygon->first[strip_of(polygon, hi[1]) + 1]; k++) {
        const struct polygon_edge *e = &polygon->edges[polygon->members[k]];
        if (!clip_edge(e, lo, hi, part)) {
            continue;
        }
        if (!range) {
            return e;
        }
        const double length = (part[1] - part[0]) * hypot(e->x[1] - e->x[0], e->y[1] - e->y[0]);
        if (length > longest) {
            longest = length;
            found = e;
            range[0] = part[0];
            range[1] = part[1];
        }
    }
    return found;
}

static void centre_of(const double lo[2], const double hi[2], double point[2])
{
    point[0] = lo[0] + (hi[0] - lo[0]) / 2;
    point[1] = lo[1] + (hi[1] - lo[1]) / 2;
}

bool polygon_meets(const struct polygon *polygon, const double lo[2], const double hi[2])
{
    double centre[2];
    if (find_edge(polygon, lo, hi, NULL)) {
        return true;
    }
    centre_of(lo, hi, centre); /* no edge in the box: all or none of it is inside */
    return polygon_holds(polygon, centre);
}

/* Finds a point inside next to the edge, on its left or else on its right; false: neither is
 * inside, the point is on the edge. */
static bool step_inside(const struct polygon *polygon, const struct polygon_edge *e, double along,
                        double step, double point[2])
{
    const double dx = e->x[1] - e->x[0], dy = e->y[1] - e->y[0];
    for (int side = -1; side <= 1; side += 2) {
        point[0] = e->x[0] + along * dx - side * step * dy;
        point[1] = e->y[0] + along * dy + side * step * dx;
        if (polygon_holds(polygon, point)) {
            return true;
        }
    }
    point[0] = e->x[0] + along * dx;
    point[1] = e->y[0] + along * dy;
    return false;
}

void polygon_anchor(const struct polygon *polygon, const double lo[2], const double hi[2],
                    double point[2])
{
    double range[2];
    const struct polygon_edge *e = find_edge(polygon, lo, hi, range);
    if (!e) {
        centre_of(lo, hi, point);
        return;
    }
    (void)step_inside(polygon, e, (range[0] + range[1]) / 2,
                      NUDGE * fmax(range[1] - range[0], NUDGE), point);
}

/* ---- initialisation ---- */

/* Rings given twice cancel under the even-odd rule: some edge must have the inside next to it. */
static dpot_status check_inside(const struct polygon *polygon, struct dpot_error *error)
{
    double point[2];
    for (size_t i = 0; i < polygon->n_edges; i++) {
        const struct polygon_edge *e = &polygon->edges[i];
        if (step_inside(polygon, e, 0.5, NUDGE, point)) {
            return DPOT_OK;
        }
    }
    return dpot_error_set(
        error, DPOT_ERR_RANGE,
        "the border has no inside (even-odd rule): a ring given twice cancels itself, and a ring "
        "thinner than a millionth of its length counts as empty");
}

dpot_status polygon_init(struct polygon *polygon, const double *vertices, const double *rings,
                         size_t n, struct dpot_error *error)
{
    *polygon = (struct polygon){0};
    dpot_status status = check_vertices(vertices, n, error);
    if (status != DPOT_OK) {
        return status;
    }
    polygon->cap = n;
    polygon->edges = dpot_alloc_array(NULL, n, sizeof *polygon->edges);
    if (!polygon->edges) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a border");
    }
    status = add_rings(polygon, vertices, rings, n, error);
    if (status == DPOT_OK) {
        find_box(polygon);
        status = sort_into_strips(polygon, error);
    }
    if (status == DPOT_OK) {
        status = check_inside(polygon, error);
    }
    if (status != DPOT_OK) {
        polygon_release(polygon);
    }
    return status;
}
