/* A synthetic population of devices over a real map, for simulations. No private data are involved.
 *
 * Each device has a home, drawn in proportion to the number of people at a place, and 2 to 7
 * further places: four in five near home (within 60 km, in proportion to people times exp(-distance
 * / 15 km)), one in five anywhere (in proportion to people). Visits: 8 to 15 at home, 1 to 3 at
 * other places. Places can repeat.
 *
 * Homes and places anywhere are drawn by a binary search. Places near home are drawn by rejection
 * over the cells of a quarter of a degree within reach, so that a device takes the same time on any
 * map, and a seed gives the same devices on any machine whose exp, sin and cos agree. */
#ifndef DPOT_TOOL_SIMULATE_POPULATION_H
#define DPOT_TOOL_SIMULATE_POPULATION_H

#include "base/rng.h"
#include "files/array.h"

/* Draws `n_devices` devices from places (n, 3): latitude, longitude (degrees), people. Writes rows
 * (device, latitude, longitude, visits) grouped by device, devices numbered from 0. DPOT_ERR_SHAPE;
 * DPOT_ERR_RANGE: a coordinate or count is out of range, or no place has people;
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status population_draw(const struct array *places, size_t n_devices,
                                             struct dpot_rng *rng, struct array *devices,
                                             struct dpot_error *error);

#endif
