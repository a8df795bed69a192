#include "campaign/sweeps.h"

#include "base/alloc.h"
#include "base/splitmix.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"

#include <math.h>
#include <string.h>

#define AHEAD 3 /* levels to the law that stands for the limit: 8 times the sweeps */
#define N_LEVELS_MAX 16

/* Laws of every measure at every level of sweeps. */
struct study {
    struct dpot_campaign campaign; /* a copy of the struct, contents borrowed, with other sweeps */
    size_t n_places, n_mixtures;
    double *histogram;            /* (domain size) */
    uint64_t *laws[N_LEVELS_MAX]; /* (n measures, output size) */
    uint32_t iterations[N_LEVELS_MAX];
    size_t n_levels;
};

static size_t n_measures(const struct study *study)
{
    return study->n_places + study->n_mixtures;
}

/* Places are spread evenly; a mixture is a few of them with weights that differ by some orders; drawn from
 * the number of the measure alone. */
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
        /* One draw a statement: the order of arguments is the compiler's. */
        const int halvings = (int)(splitmix_next(&state) % 8);
        study->histogram[place] += ldexp((double)(splitmix_next(&state) >> 40), -halvings);
    }
}

/* The laws of measures [first, first + n) with as many rows as they need: rows of mass 0 change nothing. */
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

static dpot_status add_level(struct study *study, struct dpot_error *error)
{
    const size_t kv = study->campaign.output.size, level = study->n_levels;
    const uint64_t sweeps = (uint64_t)SWEEPS_FIRST << level;
    uint64_t *laws = dpot_alloc_array(NULL, n_measures(study) * kv, sizeof *laws);
    if (!laws) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the laws of %zu measures",
                              n_measures(study));
    }
    study->laws[level] = laws;
    study->iterations[level] =
        sweeps < DPOT_ITERATIONS_MAX ? (uint32_t)sweeps : DPOT_ITERATIONS_MAX;
    study->campaign.iterations = study->iterations[level];
    study->n_levels++;
    const dpot_status status = fill_laws(study, 0, study->n_places, 1, laws, error);
    return status == DPOT_OK && study->n_mixtures > 0
               ? fill_laws(study, study->n_places, study->n_mixtures, study->campaign.n_max,
                           laws + study->n_places * kv, error)
               : status;
}

/* The worst L1 distance of two levels. */
static double distance(const struct study *study, size_t a, size_t b)
{
    const size_t kv = study->campaign.output.size;
    double worst = 0;
    for (size_t m = 0; m < n_measures(study); m++) {
        double sum = 0;
        for (size_t j = m * kv; j < (m + 1) * kv; j++) {
            const uint64_t x = study->laws[a][j], y = study->laws[b][j];
            sum += (double)(x > y ? x - y : y - x);
        }
        worst = fmax(worst, sum / (double)DPOT_MASS_ONE);
    }
    return worst;
}

static dpot_status search(struct study *study, double error_wanted, uint32_t *iterations,
                          struct dpot_error *error)
{
    double worst = HUGE_VAL;
    for (size_t level = 0;; level++) {
        while (study->n_levels <= level + AHEAD &&
               (study->n_levels == 0 ||
                study->iterations[study->n_levels - 1] < DPOT_ITERATIONS_MAX)) {
            const dpot_status status = add_level(study, error);
            if (status != DPOT_OK) {
                return status;
            }
        }
        const size_t last = study->n_levels - 1,
                     ahead = level + AHEAD < last ? level + AHEAD : last;
        if (level >= last) {
            break;
        }
        worst = distance(study, level, ahead);
        if (worst <= error_wanted) {
            *iterations = study->iterations[level];
            return DPOT_OK;
        }
    }
    return dpot_error_set(
        error, DPOT_ERR_RANGE,
        "an error of %g in the law of a report is not reached with %d sweeps (%g with half of "
        "them): choose a larger lambda or error",
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
    study.histogram = dpot_alloc_array(NULL, size, sizeof *study.histogram);
    const dpot_status status =
        study.histogram
            ? search(&study, error_wanted, iterations, error)
            : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu places", size);
    for (size_t level = 0; level < study.n_levels; level++) {
        dpot_free_array(NULL, study.laws[level], n_measures(&study) * campaign->output.size,
                        sizeof *study.laws[level]);
    }
    dpot_free_array(NULL, study.histogram, size, sizeof *study.histogram);
    return status;
}
