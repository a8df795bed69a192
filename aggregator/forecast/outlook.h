/* The outlook of a campaign: everything about its error that does not depend on how many report.
 *
 * What is predicted is the error of what an analyst will compute from n reports, one a device:
 *
 *   index campaigns   the frequency of each output point (dpot estimate, not corrected for the
 *                     mechanism): against the law of the reports, which is sampling noise alone, and
 *                     in W_1 and W_2 against the truth, which is the mechanism's bias too
 *   vector campaigns  the mean of the decoded reports (dpot pool): against the true mean
 *   on a sphere       the mean of the directions over the contraction (dpot estimate): the same
 *
 * Devices are drawn independently from the reference, whose mean is the truth; or the crowd is fixed: the
 * members of the reference report once each, and their mean is the truth. */
#ifndef DPOT_FORECAST_OUTLOOK_H
#define DPOT_FORECAST_OUTLOOK_H

#include "forecast/forecast.h"
#include "forecast/reference.h"
#include "solve/run/control.h"

struct outlook_config {
    bool is_fixed;
    double spread;  /* vectors without a reference: standard deviation of each coordinate */
    size_t n_draws; /* 0: as many as the size of the problem allows */
    uint64_t seed;
    unsigned wanted;              /* figures, 1 << figure_id; others are not worked out */
    size_t n_threads;             /* >= 1 */
    struct solve_control control; /* its progress: laws in outlook_new, draws in a forecast */
    bool is_mean_enough; /* bands are not asked for: where the mean is a formula nothing is drawn */
};

/* The first member of what outlook_new makes; to be read only. */
struct outlook {
    const struct outlook_class *class;
    struct dpot_error *error; /* borrowed: takes the sentences of forecasts too */
    const struct dpot_campaign *campaign;
    struct outlook_config config;
    unsigned figures;       /* those it has: fewer than wanted where W is too large to work out */
    size_t n_draws;         /* campaigns that are drawn */
    double bias[N_FIGURES]; /* the error that is left however many report */

    /* Index campaigns, (output size): the expected share of each point among the reports, and its
     * variance times n. */
    const double *reported, *variance;

    /* Vector campaigns: standard deviations of one coordinate of one report, data units, of the noise
     * (exact) and of the data of a drawn crowd (root mean square over the coordinates); the share of the
     * reference that the clip moves. */
    double noise, spread, clipped;
    size_t n_sampled; /* vectors: members of the reference that a drawn crowd is drawn from */
};

/* The kinds: outlook_index.c, outlook_vector.c, outlook_sphere.c. */
struct outlook_class {
    dpot_status (*open)(const struct dpot_campaign *campaign, const struct reference *reference,
                        const struct outlook_config *config, struct outlook **outlook,
                        struct dpot_error *error);
    void (*close)(struct outlook *outlook);
    dpot_status (*forecast)(struct outlook *outlook, double n, struct forecast *forecast);
};
extern const struct outlook_class outlook_index;
extern const struct outlook_class outlook_vector;
extern const struct outlook_class outlook_sphere;

/* Borrows all. DPOT_ERR_MEMORY, DPOT_ERR_TOO_LARGE, or what the mechanism says. */
DPOT_WARN_UNUSED dpot_status outlook_new(const struct dpot_campaign *campaign,
                                         const struct reference *reference,
                                         const struct outlook_config *config,
                                         struct outlook **outlook, struct dpot_error *error);
void outlook_free(struct outlook *outlook); /* NULL is allowed */

/* With n reports; a fixed crowd of an index campaign has as many as the reference has members. */
DPOT_WARN_UNUSED dpot_status outlook_forecast(struct outlook *outlook, double n,
                                              struct forecast *forecast);

/* The number of draws for a problem in which one draw costs `work`: at most `most`, at least
 * FORECAST_DRAWS_MIN, always such that the band is exact (B + 1 a multiple of 40). */
size_t outlook_choose_draws(double work, double budget, size_t most);

#endif
