/* The devices of a simulation and their data: rows grouped by device (tool/shared/rows.h).
 *
 * The devices are the first N that appear. With a vector mechanism the coordinates of a row are a
 * vector, and a device with several rows has their mean, weighted by the counts. The truth that
 * estimates are compared with (nearest domain points, mean measure) is computed here, outside the
 * client. */
#ifndef DPOT_TOOL_SIMULATE_CROWD_H
#define DPOT_TOOL_SIMULATE_CROWD_H

#include "files/array.h"
#include "model/campaign.h"
#include "tool/shared/command.h"

struct crowd_device {
    double id;    /* from the data; an integer */
    size_t first; /* its rows are first .. first + n_rows - 1 */
    size_t n_rows;
    uint32_t group; /* 0 without --group-column */
};

struct crowd {
    size_t n_devices;
    size_t n_rows;
    uint32_t dim;
    struct crowd_device *devices; /* (n_devices) in order of appearance */
    double *points;               /* (n_rows, dim) */
    double *counts;               /* (n_rows) >= 0 */
    uint32_t *nearest;            /* (n_rows) domain points, set by crowd_clamp; not for vectors */
};

/* Reads --data. The column of --group-column is taken out of it: the number of the group that a
 * device reports under, the same in all its rows. Messages name the row. Exit code 2: no such
 * column, or a campaign without groups. DPOT_ERR_SHAPE: wrong number of columns, or fewer devices
 * than asked for. DPOT_ERR_RANGE: a device that is not an integer below 2^53, a coordinate that is
 * not finite or (haversine) not on earth, a count that is negative or above 1e300, an unknown
 * group. */
DPOT_WARN_UNUSED dpot_status crowd_load(struct run *run, const struct dpot_campaign *campaign,
                                        size_t n_devices, struct crowd *crowd);
void crowd_release(struct crowd *crowd);

/* The vector of a device; zeros when it has no counts. On a sphere: the mean of its rows as unit
 * vectors, for comparison with an estimate (the client gets the rows themselves); e_1 when it has
 * no counts. */
void crowd_vector(const struct crowd *crowd, size_t device, const struct dpot_campaign *campaign,
                  double *vector /* (dim) */);

/* Finds the nearest domain point of every row, on the run's threads. Does nothing for vectors and
 * spheres. */
DPOT_WARN_UNUSED dpot_status crowd_clamp(struct run *run, const struct dpot_campaign *campaign,
                                         struct crowd *crowd);

/* Adds `weight` times the measure of the device to `population`: mass 1 over the domain; the public
 * default measure when it has no counts. */
void crowd_add_measure(const struct crowd *crowd, size_t device,
                       const struct dpot_campaign *campaign, double weight,
                       double *population /* (domain size) */);

/* Draws a place from the measure of the device by a uniform number in [0, 1). */
uint32_t crowd_draw_place(const struct crowd *crowd, size_t device,
                          const struct dpot_campaign *campaign, double uniform);

#endif
