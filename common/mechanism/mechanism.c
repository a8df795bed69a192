#include "mechanism/mechanism.h"

#include "base/crypto.h"
#include "base/double_bits.h"
#include "mechanism/index.h"
#include "mechanism/sampler.h"
#include "mechanism/u128.h"

/* The mechanisms of this build (DPOT_MECHANISMS). */
static const struct dpot_mechanism *const table[] = {
#ifndef DPOT_WITHOUT_WPM
    &dpot_mechanism_wpm,
#endif
#ifndef DPOT_WITHOUT_KPM
    &dpot_mechanism_kpm,
#endif
#ifndef DPOT_WITHOUT_EXPONENTIAL
    &dpot_mechanism_exponential,
#endif
#ifndef DPOT_WITHOUT_LAPLACE
    &dpot_mechanism_laplace,
#endif
#ifndef DPOT_WITHOUT_GAUSSIAN
    &dpot_mechanism_gaussian,
#endif
};

/* For sample_first: the device's rows with all weight on the drawn one, and the integers of that
 * draw. All arrays have n_max entries. */
struct place {
    struct dpot_private_measure measure;
    uint64_t *weights;
    uint64_t *lower;    /* 0 */
    uint64_t *upper;    /* N on rows with weight, else 0 */
    uint64_t *fallback; /* N on row 0 */
};

struct dpot_privatizer {
    const struct dpot_mechanism *mechanism;
    const struct dpot_allocator *allocator;
    void *workspace;
    bool sample_first;
    size_t n_max;
    struct place place; /* sample_first only */
};

const struct dpot_mechanism *dpot_mechanism_get(enum dpot_mechanism_id id)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i]->id == id) {
            return table[i];
        }
    }
    return NULL;
}

const struct dpot_mechanism *dpot_mechanism_of(const struct dpot_campaign *campaign)
{
#ifndef DPOT_WITHOUT_WPM
    if (campaign->mechanism == DPOT_MECHANISM_WPM && dpot_campaign_is_sphere(campaign)) {
        return &dpot_mechanism_sphere;
    }
#endif
    return dpot_mechanism_get(campaign->mechanism);
}

static dpot_status find_mechanism(const struct dpot_campaign *campaign,
                                  const struct dpot_mechanism **mechanism, struct dpot_error *error)
{
    *mechanism = dpot_mechanism_of(campaign);
    if (*mechanism) {
        return DPOT_OK;
    }
    const char *name = dpot_mechanism_name(campaign->mechanism);
    return dpot_error_set(error, DPOT_ERR_VERSION,
                          "this build has no mechanism %s: choose another, or a build that has it",
                          name ? name : "with that number");
}

dpot_status dpot_mechanism_check_campaign(const struct dpot_campaign *campaign,
                                          struct dpot_error *error)
{
    const struct dpot_mechanism *mechanism = NULL;
    dpot_status status = dpot_campaign_check(campaign, error);
    if (status == DPOT_OK) {
        status = find_mechanism(campaign, &mechanism, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    const size_t bytes = dpot_privatizer_bytes(campaign);
    if (bytes > DPOT_PRIVATIZE_BYTES_MAX && dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "a vector of %u numbers needs %zu bytes on a device, at most %u are "
                              "allowed: use a smaller one",
                              dpot_vector_data_dim(&campaign->vector), bytes,
                              DPOT_PRIVATIZE_BYTES_MAX);
    }
    if (bytes > DPOT_PRIVATIZE_BYTES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "n_max %u with %u output points needs %zu bytes on a device, at most "
                              "%u are allowed: lower n_max or use fewer output points",
                              campaign->n_max, campaign->output.size, bytes,
                              DPOT_PRIVATIZE_BYTES_MAX);
    }
    return mechanism->check(campaign, error);
}

/* A row of struct place. */
#define PLACE_ROW_BYTES (sizeof(uint32_t) + sizeof(double) + 4 * sizeof(uint64_t))

size_t dpot_privatizer_bytes(const struct dpot_campaign *campaign)
{
    const size_t place = campaign->sample_first ? PLACE_ROW_BYTES * (size_t)campaign->n_max : 0;
    return dpot_bytes_add(dpot_mechanism_of(campaign)->workspace_bytes(campaign),
                          sizeof(struct dpot_privatizer) + place);
}

struct dpot_privacy dpot_mechanism_charge(const struct dpot_campaign *campaign)
{
    const struct dpot_mechanism *mechanism = dpot_mechanism_of(campaign);
    /* A campaign that was not checked costs more than every cap. */
    const struct dpot_privacy unpayable = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0};
    return mechanism ? mechanism->charge(campaign) : unpayable;
}

uint64_t dpot_mechanism_steps(const struct dpot_campaign *campaign)
{
    const struct dpot_mechanism *mechanism = dpot_mechanism_of(campaign);
    return mechanism ? mechanism->steps(campaign) : UINT64_MAX;
}

static void place_release(struct place *place, size_t n_max, const struct dpot_allocator *allocator)
{
    dpot_private_measure_release(&place->measure);
    dpot_free_secret(allocator, place->weights, n_max, sizeof *place->weights);
    dpot_free_secret(allocator, place->lower, n_max, sizeof *place->lower);
    dpot_free_secret(allocator, place->upper, n_max, sizeof *place->upper);
    dpot_free_secret(allocator, place->fallback, n_max, sizeof *place->fallback);
}

static dpot_status place_init(struct place *place, size_t n_max,
                              const struct dpot_allocator *allocator)
{
    const dpot_status status = dpot_private_measure_init(&place->measure, n_max, allocator);
    place->weights = dpot_alloc_array(allocator, n_max, sizeof *place->weights);
    place->lower = dpot_alloc_array(allocator, n_max, sizeof *place->lower);
    place->upper = dpot_alloc_array(allocator, n_max, sizeof *place->upper);
    place->fallback = dpot_alloc_array(allocator, n_max, sizeof *place->fallback);
    if (status != DPOT_OK || !place->weights || !place->lower || !place->upper ||
        !place->fallback) {
        return DPOT_ERR_MEMORY; /* the privatizer frees the rest */
    }
    place->fallback[0] = DPOT_MASS_ONE;
    return DPOT_OK;
}

dpot_status dpot_privatizer_new(const struct dpot_campaign *campaign,
                                const struct dpot_allocator *allocator,
                                struct dpot_privatizer **privatizer, struct dpot_error *error)
{
    *privatizer = NULL;
    const struct dpot_mechanism *mechanism = NULL;
    dpot_status status = find_mechanism(campaign, &mechanism, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct dpot_privatizer *made = dpot_alloc_array(allocator, 1, sizeof *made);
    if (!made) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a privatizer");
    }
    made->mechanism = mechanism;
    made->allocator = allocator;
    made->sample_first = campaign->sample_first;
    made->n_max = campaign->n_max;
    status = mechanism->workspace_new(campaign, allocator, &made->workspace, error);
    if (status == DPOT_OK && made->sample_first &&
        place_init(&made->place, made->n_max, allocator) != DPOT_OK) {
        status = dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu rows", made->n_max);
    }
    if (status != DPOT_OK) {
        dpot_privatizer_free(made);
        return status;
    }
    *privatizer = made;
    return DPOT_OK;
}

void dpot_privatizer_free(struct dpot_privatizer *privatizer)
{
    if (!privatizer) {
        return;
    }
    if (privatizer->workspace) {
        privatizer->mechanism->workspace_free(privatizer->workspace);
    }
    place_release(&privatizer->place, privatizer->n_max, privatizer->allocator);
    dpot_free_secret(privatizer->allocator, privatizer, 1, sizeof *privatizer);
}

/* Copies the device's rows, always n_max of them. */
static void copy_rows(struct place *place, const struct dpot_measure *own, size_t n_max)
{
    struct dpot_measure *rows = &place->measure.measure;
    const size_t n_rows = own->support_size < n_max ? own->support_size : n_max;
    for (size_t r = 0; r < n_max; r++) {
        rows->support[r] = r < n_rows ? own->support[r] : 0;
        rows->weights[r] = r < n_rows ? own->weights[r] : 0;
    }
}

/* Draws one row with its weight as probability, in integers, and gives it all weight. All n_max
 * rows remain, so that the following work is the same. */
static void draw_place(struct place *place, size_t n_max, uint64_t random)
{
    double *row_weights = place->measure.measure.weights;
    for (size_t r = 0; r < n_max; r++) {
        /* Without the sign: 0 exactly for weight zero. */
        const uint64_t bits = dpot_double_bits(row_weights[r]) << 1;
        place->upper[r] = dpot_u64_mask((bits | (0 - bits)) >> 63) & DPOT_MASS_ONE;
    }
    dpot_weights_round(row_weights, place->lower, place->upper, n_max, place->weights);
    const uint64_t drawn = dpot_weights_draw(place->weights, place->lower, place->upper,
                                             place->fallback, n_max, random);
    for (size_t r = 0; r < n_max; r++) {
        const uint64_t diff = drawn ^ r;
        const uint64_t is_other = (diff | (0 - diff)) >> 63;
        row_weights[r] = dpot_double_of_bits(dpot_u64_mask(is_other ^ 1) & dpot_double_bits(1));
    }
    dpot_wipe(place->weights, n_max * sizeof *place->weights);
    dpot_wipe(place->upper, n_max * sizeof *place->upper);
}

void dpot_privatizer_run(struct dpot_privatizer *privatizer,
                         const struct dpot_private_measure *private_measure, struct dpot_rng *rng,
                         struct dpot_report *report)
{
    const struct dpot_private_measure *measure = private_measure;
    struct place *place = &privatizer->place;
    if (privatizer->sample_first) {
        copy_rows(place, &private_measure->measure, privatizer->n_max);
        draw_place(place, privatizer->n_max, dpot_rng_u64(rng));
        measure = &place->measure;
    }
    privatizer->mechanism->privatize(privatizer->workspace, measure, rng, report);
    if (privatizer->sample_first) {
        struct dpot_measure *rows = &place->measure.measure;
        dpot_wipe(rows->support, privatizer->n_max * sizeof *rows->support);
        dpot_wipe(rows->weights, privatizer->n_max * sizeof *rows->weights);
    }
}

void dpot_privatizer_run_points(struct dpot_privatizer *privatizer,
                                const struct dpot_private_points *points, struct dpot_rng *rng,
                                struct dpot_report *report)
{
    privatizer->mechanism->load_directions(privatizer->workspace, points->vectors.values,
                                           report->id);
    dpot_privatizer_run(privatizer, &points->measure, rng, report);
}

void dpot_privatizer_run_vector(struct dpot_privatizer *privatizer,
                                const struct dpot_private_vector *private_vector,
                                struct dpot_rng *rng, struct dpot_report *report)
{
    privatizer->mechanism->privatize_vector(privatizer->workspace, private_vector, rng, report);
}

void dpot_privatizer_law(struct dpot_privatizer *privatizer,
                         const struct dpot_private_measure *private_measure, uint64_t *weights)
{
    privatizer->mechanism->law(privatizer->workspace, private_measure, weights);
}

void dpot_privatizer_law_points(struct dpot_privatizer *privatizer,
                                const struct dpot_private_points *points,
                                const uint8_t report_id[DPOT_REPORT_ID_LEN], uint64_t *weights)
{
    privatizer->mechanism->load_directions(privatizer->workspace, points->vectors.values,
                                           report_id);
    dpot_privatizer_law(privatizer, &points->measure, weights);
}
