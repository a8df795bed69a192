/* The public region of a trusted curator's job: a box (--domain) and, in the plane, a border
 * (--border) within it. Without --domain the box is that of the border. It never depends on the
 * data. */
#ifndef DPOT_TOOL_CENTRAL_REGION_H
#define DPOT_TOOL_CENTRAL_REGION_H

#include "central/polygon.h"
#include "tool/central/records.h"

struct region {
    size_t dim;
    double *lo, *hi; /* (dim) owned */
    double radius;   /* of the ball about the origin in this box; 0: no ball */
    bool has_border;
    struct polygon border;
};

#define REGION_OPTIONS                                                                             \
    {"domain", "SPEC", "the public box, as JSON or a file (default: that of --border)"},           \
        {"border", "F", "a public border in the plane: points lie inside"},                        \
    {                                                                                              \
        "border-columns", "X,Y",                                                                   \
            "its columns (default: those named like the coordinates, or its only two)"             \
    }

/* Reads --domain and --border for these records, and fills these (region_fill). A column `ring` of
 * the border names the ring of each vertex. Release also after a failure. Exit code 2: neither is
 * given, or wrong columns; 3: a set that is no box, another dimension, a border without area or
 * outside the box. */
DPOT_WARN_UNUSED dpot_status region_load(struct run *run, struct records *records,
                                         struct region *region);
void region_release(struct region *region);

/* The same; --domain may also be an l2_ball. */
DPOT_WARN_UNUSED dpot_status region_load_ball(struct run *run, struct records *records,
                                              struct region *region);

/* The number of coordinates: of --domain, which is read and validated on its own, or 2 for
 * --border. Called before the ledger is charged. Exit code 2: neither is given; 3: --domain is no
 * set. */
DPOT_WARN_UNUSED dpot_status region_read_dim(struct run *run, size_t *dim);

/* PRIVATE: the number of records outside the box, which count at its nearest face. `counts`:
 * records per row; NULL: one. */
int64_t region_n_outside(const struct region *region, const double *points, const int64_t *counts,
                         size_t n);
/* Replaces coordinates that are no finite number by the public default, as on the device: NaN
 * counts as 0, an infinity as the largest double, and both at the nearest face outside. */
void region_fill(const struct region *region, double *points, size_t n);

/* Warns of records outside the box, in a simulation only. */
void region_warn_outside(const struct run *run, int64_t n_outside);

/* Reads the box alone, from --domain, for points of `dim` coordinates in the file of `option`. */
DPOT_WARN_UNUSED dpot_status region_load_box(struct run *run, size_t dim, const char *option,
                                             struct region *region);

#endif
