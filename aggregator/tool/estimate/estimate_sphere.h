/* dpot estimate of a campaign on a sphere: the mean of the users' unit vectors. */
#ifndef DPOT_TOOL_ESTIMATE_ESTIMATE_SPHERE_H
#define DPOT_TOOL_ESTIMATE_ESTIMATE_SPHERE_H

#include "tool/estimate/estimate.h"

/* The mean of the reported directions (n, dim), divided by the contraction c with which the mean of a
 * report is c times the device's vector (campaign/spec_sphere.h): an unbiased estimate with two kinds of standard error. That of the users is against the mean of the vectors of those who reported: the
 * mechanism's noise alone, whose variance is known (account/sphere.h, sphere_scatter). That of the population they
 * were drawn from has the spread between them besides, and comes from the spread of the reports. Where a device projects several vectors at once no such c
 * exists, and the plain mean is written with a warning. Writes the estimate (dim,) and its side file,
 * and puts the keys. `e` holds the options, campaign and the pool's side file. */
DPOT_WARN_UNUSED dpot_status estimate_sphere(struct estimate *e);

#endif
