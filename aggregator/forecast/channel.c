#include "forecast/channel.h"

#include "base/alloc.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "solve/run/workers.h"

#include <string.h>

#define BLOCK 64 /* laws computed at a time */

/* State of one thread. */
struct scratch {
    struct dpot_privatizer *privatizer;
    struct dpot_private_measure own; /* as the device stores it */
    double *histogram;               /* (domain size) */
    uint64_t *weights;               /* (output size) */
};

struct channel {
    const struct dpot_campaign *campaign;
    const struct reference *reference;
    struct scratch *scratches; /* (n_workers) */
    size_t n_workers;
    double *laws;        /* (BLOCK, output size) */
    size_t first_member; /* first member of the block */
};

static void scratch_release(struct scratch *scratch, const struct dpot_campaign *campaign)
{
    dpot_privatizer_free(scratch->privatizer);
    dpot_private_measure_release(&scratch->own);
    dpot_free_array(NULL, scratch->histogram, campaign->domain.size, sizeof(double));
    dpot_free_array(NULL, scratch->weights, campaign->output.size, sizeof(uint64_t));
}

static dpot_status scratch_init(struct scratch *scratch, const struct dpot_campaign *campaign,
                                struct dpot_error *error)
{
    dpot_status status = dpot_privatizer_new(campaign, NULL, &scratch->privatizer, error);
    if (status == DPOT_OK) {
        status = dpot_private_measure_init(&scratch->own, campaign->n_max, NULL);
    }
    scratch->histogram = dpot_alloc_array(NULL, campaign->domain.size, sizeof(double));
    scratch->weights = dpot_alloc_array(NULL, campaign->output.size, sizeof(uint64_t));
    return status == DPOT_OK && !(scratch->histogram && scratch->weights)
               ? dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the laws")
               : status;
}

/* Adds `weight` times the law of the measure in the histogram, and clears the histogram. */
static void add_law(struct scratch *scratch, const struct dpot_campaign *campaign, double weight,
                    double *law)
{
    dpot_private_measure_set(&scratch->own, scratch->histogram, campaign->domain.size);
    dpot_privatizer_law(scratch->privatizer, &scratch->own, scratch->weights);
    for (size_t j = 0; j < campaign->output.size; j++) {
        law[j] += weight * ((double)scratch->weights[j] / (double)DPOT_MASS_ONE);
    }
}

static dpot_status find_law(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct channel *c = ctx;
    struct scratch *scratch = &c->scratches[worker];
    const struct reference *r = c->reference;
    const size_t kv = c->campaign->output.size, member = c->first_member + item;
    double *law = c->laws + item * kv;
    (void)error;
    memset(law, 0, kv * sizeof *law);
    if (!c->campaign->sample_first) {
        reference_fill(r, member, scratch->histogram);
        add_law(scratch, c->campaign, 1, law);
        return DPOT_OK;
    }
    for (size_t i = r->first[member]; i < r->first[member + 1]; i++) {
        scratch->histogram[r->point[i]] = 1;
        add_law(scratch, c->campaign, r->mass[i], law);
    }
    return DPOT_OK;
}

static dpot_status run_blocks(struct channel *c, const struct solve_control *control,
                              channel_take take, void *ctx, struct dpot_error *error)
{
    const size_t n = c->reference->n_members, kv = c->campaign->output.size;
    dpot_status status = DPOT_OK;
    while (status == DPOT_OK && c->first_member < n) {
        const size_t n_left = n - c->first_member;
        const size_t n_block = n_left < BLOCK ? n_left : BLOCK;
        status = workers_run(n_block, c->n_workers, find_law, c, NULL, error);
        for (size_t t = 0; status == DPOT_OK && t < n_block; t++) {
            take(ctx, c->first_member + t, c->laws + t * kv);
        }
        c->first_member += n_block;
        if (control && control->progress) {
            control->progress(control->ctx, c->first_member, n);
        }
    }
    return status;
}

dpot_status channel_laws(const struct dpot_campaign *campaign, const struct reference *reference,
                         size_t n_threads, const struct solve_control *control, channel_take take,
                         void *ctx, struct dpot_error *error)
{
    struct channel c = {.campaign = campaign, .reference = reference, .n_workers = n_threads};
    c.scratches = dpot_alloc_array(NULL, c.n_workers, sizeof *c.scratches);
    c.laws = dpot_alloc_array(NULL, BLOCK * (size_t)campaign->output.size, sizeof *c.laws);
    dpot_status status = c.scratches && c.laws
                             ? DPOT_OK
                             : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the laws");
    for (size_t w = 0; status == DPOT_OK && w < c.n_workers; w++) {
        status = scratch_init(&c.scratches[w], campaign, error);
    }
    if (status == DPOT_OK) {
        status = run_blocks(&c, control, take, ctx, error);
    }
    for (size_t w = 0; c.scratches && w < c.n_workers; w++) {
        scratch_release(&c.scratches[w], campaign);
    }
    dpot_free_array(NULL, c.scratches, c.n_workers, sizeof *c.scratches);
    dpot_free_array(NULL, c.laws, BLOCK * (size_t)campaign->output.size, sizeof *c.laws);
    return status;
}
