/* A pool of vectors, with its noise and the domain of its data: read from the options --pool,
 * --mechanism, --scale and --domain, and from the side file F.json that dpot pool and dpot simulate
 * write. Where both give a value they must agree. */
#ifndef DPOT_TOOL_SHARED_NOISY_POOL_H
#define DPOT_TOOL_SHARED_NOISY_POOL_H

#include "campaign/spec_vector.h"
#include "files/array.h"
#include "mechanism/noise_density.h"
#include "tool/shared/command.h"

struct noisy_pool {
    bool needs_no_domain; /* set by the caller: no warning when the domain is unknown */

    struct array reports;              /* (n, dim) finite */
    struct dpot_noise_density density; /* on the campaign's grid if the side file has it */
    json_t *side;                      /* the side file; NULL: none */
    char campaign_hash[65];            /* empty: unknown */

    double *lo, *hi; /* (dim) bounding box of the data */
    double radius;   /* of the ball within, in the norm of `set`; 0 for a box */
    enum dpot_vector_set set;
    const char *domain; /* source of the domain: "option", "campaign", "pool" */
};

#define NOISY_POOL_OPTIONS                                                                         \
    {"pool", "F", "reports (n, dim), as dpot pool exports them"},                                  \
        {"mechanism", "laplace|gaussian", "default: what F.json says"},                            \
        {"scale", "S [1e-100,1e100]",                                                              \
         "of the noise of one coordinate, data units: b, sigma (default: F.json)"},                \
    {                                                                                              \
        "domain", "SPEC", "set that holds the data, as JSON or a file (default: F.json)"           \
    }

/* Reads and validates all of it. If the domain is unknown, uses the quantiles 0.001 and 0.999 of
 * each coordinate of the pool, and warns. Release also after a failure. Exit codes: 2 options; 3
 * the values disagree, or this is no pool of vectors; 7 the pool is below the campaign's
 * minimum. */
DPOT_WARN_UNUSED dpot_status noisy_pool_load(struct run *run, struct noisy_pool *pool);
void noisy_pool_release(struct noisy_pool *pool);

#endif
