#include "campaign/sweeps.h"

#include "base/alloc.h"
#include "base/splitmix.h"
#include "campaign/sweeps_limit.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"

#include <math.h>
#include <string.h>

/* The laws of every measure: their limits, and after some number of sweeps. */
struct study {
    struct dpot_campaign campaign; /* contents borrowed; iterations are set to what is measured */
    size_t n_places, n_mixtures;
    double *histogram; /* (domain size) */
    double *limits;    /* (n measures, output size) */
    double *bounds;    /* (n measures) L1 error of the limits */
    uint64_t *laws;    /* (n measures, output size) */
};

static size_t n_measures(const struct study *study)
{
    return study->n_places + study->n_mixtures;
}

/* Single places are spread evenly. A mixture is a few places with weights that differ by orders of
 * magnitude, drawn from the index of the measure alone. */
static void fill_histogram(struct study *study, size_t measure)
{
    const uint64_t size = study->campaign.domain.size;
    if (measure < study->n_places) {
        study->histogram[measure * size / study->n_places] = 1;
        return;
    }
    uint64_t state = measure;
    const uint64_t n = 2 + splitmix_next(&state) % (study->campaign.n_max - 1);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t place = splitmix_next(&state) % size;
        /* One draw per statement, since the order of evaluation of arguments is unspecified. */
        const int halvings = (int)(splitmix_next(&state) % 8);
        study->histogram[place] += ldexp((double)(splitmix_next(&state) >> 40), -halvings);
    }
}

/* The laws of measures [first, first + n). n_max need not be the campaign's: rows of mass 0 change
 * nothing. */
static dpot_status fill_laws(struct study *study, size_t first, size_t n, uint32_t n_max,
                             uint64_t *laws, struct dpot_error *error)
{
    struct dpot_campaign campaign = study->campaign;
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_private_measure own;
    campaign.n_max = n_max;
    campaign.sample_first = false;
    dpot_status status = dpot_private_measure_init(&own, n_max, NULL);
    if (status == DPOT_OK) {
        status = dpot_privatizer_new(&campaign, NULL, &privatizer, error);
    }
    for (size_t m = 0; status == DPOT_OK && m < n; m++) {
        memset(study->histogram, 0, campaign.domain.size * sizeof *study->histogram);
        fill_histogram(study, first + m);
        dpot_private_measure_set(&own, study->histogram, campaign.domain.size);
        dpot_privatizer_law(privatizer, &own, laws + m * campaign.output.size);
    }
    dpot_privatizer_free(privatizer);
    dpot_private_measure_release(&own);
    return status;
}

static dpot_status fill_limits(struct study *study, double error_wanted, struct dpot_error *error)
{
    const size_t kv = study->campaign.output.size;
    dpot_status status = DPOT_OK;
    for (size_t m = 0; status == DPOT_OK && m < n_measures(study); m++) {
        memset(study->histogram, 0, study->campaign.domain.size * sizeof *study->histogram);
        fill_histogram(study, m);
        status = sweeps_limit(&study->campaign, study->histogram, error_wanted,
                              study->limits + m * kv, &study->bounds[m], error);
        if (status == DPOT_OK && !(study->bounds[m] < error_wanted)) {
            status = dpot_error_set(
                error, DPOT_ERR_RANGE,
                "whether an error of %g in the law of a report is reached cannot be decided at "
                "this lambda: choose a larger lambda or error, or \"solver\": \"exact\"",
                error_wanted);
        }
    }
    return status;
}

static dpot_status fill_all_laws(struct study *study, uint32_t iterations, struct dpot_error *error)
{
    study->campaign.iterations = iterations;
    const dpot_status status = fill_laws(study, 0, study->n_places, 1, study->laws, error);
    return status == DPOT_OK && study->n_mixtures > 0
               ? fill_laws(study, study->n_places, study->n_mixtures, study->campaign.n_max,
                           study->laws + study->n_places * study->campaign.output.size, error)
               : status;
}

/* The largest L1 distance of a law from its limit, the error of the limit included. */
static double largest_error(const struct study *study)
{
    const size_t kv = study->campaign.output.size;
    double worst = 0;
    for (size_t m = 0; m < n_measures(study); m++) {
        double sum = study->bounds[m];
        for (size_t j = m * kv; j < (m + 1) * kv; j++) {
            sum += fabs((double)study->laws[j] / (double)DPOT_MASS_ONE - study->limits[j]);
        }
        worst = fmax(worst, sum);
    }
    return worst;
}

static dpot_status search(struct study *study, double error_wanted, uint32_t *iterations,
                          struct dpot_error *error)
{
    dpot_status status = fill_limits(study, error_wanted, error);
    double worst = HUGE_VAL;
    uint32_t sweeps = SWEEPS_FIRST;
    while (status == DPOT_OK) {
        status = fill_all_laws(study, sweeps, error);
        worst = largest_error(study);
        if (status == DPOT_OK && worst <= error_wanted) {
            *iterations = sweeps;
            return DPOT_OK;
        }
        if (sweeps == DPOT_ITERATIONS_MAX) {
            break;
        }
        sweeps = sweeps < DPOT_ITERATIONS_MAX / 2 ? 2 * sweeps : DPOT_ITERATIONS_MAX;
    }
    return status != DPOT_OK
               ? status
               : dpot_error_set(
                     error, DPOT_ERR_RANGE,
                     "an error of %g in the law of a report is not reached with %d sweeps (it is "
                     "%.3g): choose a larger lambda or error, or \"solver\": \"exact\"",
                     error_wanted, DPOT_ITERATIONS_MAX, worst);
}

dpot_status sweeps_measure(const struct dpot_campaign *campaign, double error_wanted,
                           uint32_t *iterations, struct dpot_error *error)
{
    const size_t size = campaign->domain.size;
    struct study study = {.campaign = *campaign,
                          .n_places = size < SWEEPS_PLACES ? size : SWEEPS_PLACES,
                          .n_mixtures =
                              campaign->n_max > 1 && !campaign->sample_first ? SWEEPS_MIXTURES : 0};
    const size_t n = n_measures(&study), kv = campaign->output.size;
    study.histogram = dpot_alloc_array(NULL, size, sizeof *study.histogram);
    study.limits = dpot_alloc_array(NULL, n * kv, sizeof *study.limits);
    study.bounds = dpot_alloc_array(NULL, n, sizeof *study.bounds);
    study.laws = dpot_alloc_array(NULL, n * kv, sizeof *study.laws);
    const dpot_status status =
        study.histogram && study.limits && study.bounds && study.laws
            ? search(&study, error_wanted, iterations, error)
            : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the laws of %zu measures",
                             n);
    dpot_free_array(NULL, study.histogram, size, sizeof *study.histogram);
    dpot_free_array(NULL, study.limits, n * kv, sizeof *study.limits);
    dpot_free_array(NULL, study.bounds, n, sizeof *study.bounds);
    dpot_free_array(NULL, study.laws, n * kv, sizeof *study.laws);
    return status;
}
