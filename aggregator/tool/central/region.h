/* The public region of a trusted curator's job: a box (--domain) and, in the plane, a border within it.
 * Without --domain the box is that of the border. Never from the data. */
#ifndef DPOT_TOOL_CENTRAL_REGION_H
#define DPOT_TOOL_CENTRAL_REGION_H

#include "central/polygon.h"
#include "tool/central/records.h"

struct region {
    size_t dim;
    double *lo, *hi; /* (dim) owned */
    double radius;   /* of a ball about the origin, whose box this is; 0: none */
    bool has_border;
    struct polygon border;
};

#define REGION_OPTIONS                                                                             \
    {"domain", "SPEC", "the public box, as JSON or a file with it (default: that of --border)"},   \
        {"border", "F", "a public border in the plane: points lie inside"},                        \
    {                                                                                              \
        "border-columns", "X,Y",                                                                   \
            "its columns (default: those of the names of the coordinates, or its only two)"        \
    }

/* Reads both for these records. A column `ring` of the border names the ring of each vertex. Release it
 * in every case. Exit code 2: neither is given, columns; 3: a set that is no box, another dimension, a
 * border without area or outside of the box. */
DPOT_WARN_UNUSED dpot_status region_load(struct run *run, const struct records *records,
                                         struct region *region);
void region_release(struct region *region);

/* The same, where --domain may be an l2_ball, too. */
DPOT_WARN_UNUSED dpot_status region_load_ball(struct run *run, const struct records *records,
                                              struct region *region);

/* The number of coordinates of --domain, which is read and checked for itself, or 2 for --border: what
 * is wrong here has cost nothing yet. Exit code 2: neither is given; 3: a --domain that is no set. */
DPOT_WARN_UNUSED dpot_status region_read_dim(struct run *run, size_t *dim);

/* How many records lie outside of the box, and so count at its nearest face. PRIVATE: told in a
 * simulation only. counts: records a row stands for, NULL: one. */
int64_t region_n_outside(const struct region *region, const double *points, const int64_t *counts,
                         size_t n);
void region_tell_outside(const struct run *run, int64_t n_outside);

/* The box alone, which --domain must give, for points of `dim` coordinates in the file of an option. */
DPOT_WARN_UNUSED dpot_status region_load_box(struct run *run, size_t dim, const char *option,
                                             struct region *region);

#endif
