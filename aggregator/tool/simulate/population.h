/* A synthetic population of devices over a real map, for simulations.
 *
 * Each device has a home drawn in proportion to the number of people at a place, and 2 to 7 further places:
 * four in five near home (in proportion to people times exp(-distance / 15 km), within 60 km), one in five
 * anywhere (in proportion to people). Counts: home 8 to 15 visits, other places 1 to 3. Places can repeat.
 * Nothing here is private data: it is what a simulation feeds to its virtual devices. */
#ifndef DPOT_TOOL_SIMULATE_POPULATION_H
#define DPOT_TOOL_SIMULATE_POPULATION_H

#include "base/rng.h"
#include "files/array.h"

/* Draws `n_devices` devices from places (n, 3): latitude, longitude (degrees), people. Writes rows
 * (device, latitude, longitude, visits) grouped by device, devices numbered from 0. DPOT_ERR_SHAPE,
 * DPOT_ERR_RANGE (a coordinate or count out of range, nobody anywhere), DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status population_draw(const struct array *places, size_t n_devices,
                                             struct dpot_rng *rng, struct array *devices,
                                             struct dpot_error *error);

#endif
