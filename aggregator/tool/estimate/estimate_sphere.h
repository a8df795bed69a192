/* dpot estimate of a campaign on a sphere: the mean of the users' unit vectors. */
#ifndef DPOT_TOOL_ESTIMATE_ESTIMATE_SPHERE_H
#define DPOT_TOOL_ESTIMATE_ESTIMATE_SPHERE_H

#include "tool/estimate/estimate.h"

/* Writes the estimate (dim,), its side file and the result: the mean of the reported directions (n,
 * dim), divided by the contraction c (campaign/spec_sphere.h: the mean report is c times the
 * device's vector), which is unbiased. It has two standard errors. That of the users, against the
 * mean vector of those who reported, is the noise of the mechanism alone, whose variance is known
 * (account/sphere.h, sphere_scatter). That of the population they were drawn from includes the
 * spread between users, and comes from the spread of the reports. A device that projects several
 * vectors at once has no such c: the plain mean is written, with a warning. `e` holds options,
 * campaign and the side file of the pool. */
DPOT_WARN_UNUSED dpot_status estimate_sphere(struct estimate *e);

#endif
