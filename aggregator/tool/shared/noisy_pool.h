/* A pool of vectors with what is known of its noise and of where its data can be: the options --pool,
 * --mechanism, --scale and --domain, and the file F.json that dpot pool and dpot simulate leave beside
 * their exports. What both say must agree. */
#ifndef DPOT_TOOL_SHARED_NOISY_POOL_H
#define DPOT_TOOL_SHARED_NOISY_POOL_H

#include "campaign/spec_vector.h"
#include "files/array.h"
#include "mechanism/noise_density.h"
#include "tool/shared/command.h"

struct noisy_pool {
    bool needs_no_domain; /* set by the caller: do not warn when none is known */

    struct array reports;              /* (n, dim) finite */
    struct dpot_noise_density density; /* on the campaign's grid when the side file tells it */
    json_t *side;                      /* the side file; NULL: there is none */
    char campaign_hash[65];            /* empty: not known */

    double *lo, *hi; /* (dim) the box that data are in */
    double radius;   /* of the ball within, in the norm of `set`; 0 for a box */
    enum dpot_vector_set set;
    const char *domain; /* where it comes from: "option", "campaign", "pool" */
};

#define NOISY_POOL_OPTIONS                                                                         \
    {"pool", "F", "reports (n, dim), as dpot pool exports them"},                                  \
        {"mechanism", "M", "laplace or gaussian (default: what F.json says)"},                     \
        {"scale", "S", "of the noise of one coordinate, data units: b, sigma (default: F.json)"},  \
    {                                                                                              \
        "domain", "SPEC", "where data can be, as JSON or a file with it (default: F.json)"         \
    }

/* Reads and checks all of it. Without a domain anywhere, takes for each coordinate the quantiles 0.001 and
 * 0.999 of the pool, and warns. Release it in every case. Exit codes: 2 options, 3 what does not agree or
 * is no pool of vectors, 7 below the campaign's minimum. */
DPOT_WARN_UNUSED dpot_status noisy_pool_load(struct run *run, struct noisy_pool *pool);
void noisy_pool_release(struct noisy_pool *pool);

#endif
