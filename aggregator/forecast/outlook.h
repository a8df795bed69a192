/* The outlook of a campaign: the part of an error forecast that does not depend on the number of
 * reports.
 *
 * The forecast is for the error of the analyst's result from n reports, one per device:
 *
 *   index campaigns   the frequency of each output point (dpot estimate, not corrected for the
 *                     mechanism): against the law of the reports (sampling noise only), and in W_1
 *                     and W_2 against the truth (including the bias of the mechanism)
 *   vector campaigns  the mean of the decoded reports (dpot pool), against the true mean
 *   on a sphere       the mean of the directions divided by the contraction (dpot estimate), in the
 *                     same way
 *
 * Devices are drawn independently from the reference, whose mean is the truth; or the crowd is
 * fixed: each member of the reference reports once, and their mean is the truth. */
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
    unsigned wanted;              /* bits 1 << figure_id; other figures are not computed */
    size_t n_threads;             /* >= 1 */
    struct solve_control control; /* its progress counts laws in outlook_new, draws in a forecast */
    bool is_mean_enough;          /* no bands: nothing is drawn where the mean has a formula */
};

/* The first member of the objects that outlook_new creates; read-only. */
struct outlook {
    const struct outlook_class *class;
    struct dpot_error *error; /* borrowed: gets the messages of forecasts too */
    const struct dpot_campaign *campaign;
    struct outlook_config config;
    unsigned figures;       /* available figures: fewer than wanted if W is too large to compute */
    size_t n_draws;         /* number of simulated campaigns */
    double bias[N_FIGURES]; /* the error that no number of reports removes */

    /* Index campaigns, (output size): the expected share of each point among the reports, and its
     * variance times n. */
    const double *reported, *variance;

    /* Vector campaigns: standard deviations of one coordinate of one report, in data units, of the
     * noise (exact) and of the data of a drawn crowd (root mean square over the coordinates); and
     * the share of the reference that clipping changes. */
    double noise, spread, clipped;
    size_t n_sampled; /* vectors: members of the reference that represent a drawn crowd */
};

/* Implementations: outlook_index.c, outlook_vector.c, outlook_sphere.c. */
struct outlook_class {
    size_t size; /* of the struct that begins with struct outlook */
    dpot_status (*open)(struct outlook *outlook, const struct reference *reference);
    void (*close)(struct outlook *outlook); /* also after a failed open */
    dpot_status (*forecast)(struct outlook *outlook, double n, struct forecast *forecast);
};
extern const struct outlook_class outlook_index;
extern const struct outlook_class outlook_vector;
extern const struct outlook_class outlook_sphere;

/* Borrows its arguments for the lifetime of the outlook. DPOT_ERR_MEMORY, DPOT_ERR_TOO_LARGE, or
 * the status of the mechanism. */
DPOT_WARN_UNUSED dpot_status outlook_new(const struct dpot_campaign *campaign,
                                         const struct reference *reference,
                                         const struct outlook_config *config,
                                         struct outlook **outlook, struct dpot_error *error);
void outlook_free(struct outlook *outlook); /* NULL is allowed */

/* The forecast for n reports. A fixed crowd of an index campaign requires n = number of members of
 * the reference. */
DPOT_WARN_UNUSED dpot_status outlook_forecast(struct outlook *outlook, double n,
                                              struct forecast *forecast);

/* Number of draws if one draw costs `work`: FORECAST_DRAWS_MIN .. most, such that the band is exact
 * (B + 1 is a multiple of 40). */
size_t outlook_choose_draws(double work, double budget, size_t most);

#endif
