#include "forecast/channel.h"

#include "base/alloc.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "solve/run/workers.h"

#include <string.h>

#define BLOCK 64 /* laws in memory at a time */

/* What one thread works with. */
struct bench {
    struct dpot_privatizer *privatizer;
    struct dpot_private_measure own; /* as the device holds it */
    double *histogram;               /* (domain size) */
    uint64_t *weights;               /* (output size) */
};

struct channel {
    const struct dpot_campaign *campaign;
    const struct reference *reference;
    struct bench *benches; /* (n_workers) */
    size_t n_workers;
    double *laws;        /* (BLOCK, output size) */
    size_t first_member; /* of the block */
};

static void bench_release(struct bench *bench, const struct dpot_campaign *campaign)
{
    dpot_privatizer_free(bench->privatizer);
    dpot_private_measure_release(&bench->own);
    dpot_free_array(NULL, bench->histogram, campaign->domain.size, sizeof(double));
    dpot_free_array(NULL, bench->weights, campaign->output.size, sizeof(uint64_t));
}

static dpot_status bench_init(struct bench *bench, const struct dpot_campaign *campaign,
                              struct dpot_error *error)
{
    dpot_status status = dpot_privatizer_new(campaign, NULL, &bench->privatizer, error);
    if (status == DPOT_OK) {
        status = dpot_private_measure_init(&bench->own, campaign->n_max, NULL);
    }
    bench->histogram = dpot_alloc_array(NULL, campaign->domain.size, sizeof(double));
    bench->weights = dpot_alloc_array(NULL, campaign->output.size, sizeof(uint64_t));
    return status == DPOT_OK && !(bench->histogram && bench->weights)
               ? dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the laws")
               : status;
}

/* Adds `weight` times the law of the measure in the histogram, which is wiped. */
static void add_law(struct bench *bench, const struct dpot_campaign *campaign, double weight,
                    double *law)
{
    dpot_private_measure_set(&bench->own, bench->histogram, campaign->domain.size);
    dpot_privatizer_law(bench->privatizer, &bench->own, bench->weights);
    for (size_t j = 0; j < campaign->output.size; j++) {
        law[j] += weight * ((double)bench->weights[j] / (double)DPOT_MASS_ONE);
    }
}

static dpot_status find_law(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct channel *c = ctx;
    struct bench *bench = &c->benches[worker];
    const struct reference *r = c->reference;
    const size_t kv = c->campaign->output.size, member = c->first_member + item;
    double *law = c->laws + item * kv;
    (void)error;
    memset(law, 0, kv * sizeof *law);
    if (!c->campaign->sample_first) {
        reference_fill(r, member, bench->histogram);
        add_law(bench, c->campaign, 1, law);
        return DPOT_OK;
    }
    for (size_t i = r->first[member]; i < r->first[member + 1]; i++) {
        bench->histogram[r->point[i]] = 1;
        add_law(bench, c->campaign, r->mass[i], law);
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
    c.benches = dpot_alloc_array(NULL, c.n_workers, sizeof *c.benches);
    c.laws = dpot_alloc_array(NULL, BLOCK * (size_t)campaign->output.size, sizeof *c.laws);
    dpot_status status = c.benches && c.laws
                             ? DPOT_OK
                             : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the laws");
    for (size_t w = 0; status == DPOT_OK && w < c.n_workers; w++) {
        status = bench_init(&c.benches[w], campaign, error);
    }
    if (status == DPOT_OK) {
        status = run_blocks(&c, control, take, ctx, error);
    }
    for (size_t w = 0; c.benches && w < c.n_workers; w++) {
        bench_release(&c.benches[w], campaign);
    }
    dpot_free_array(NULL, c.benches, c.n_workers, sizeof *c.benches);
    dpot_free_array(NULL, c.laws, BLOCK * (size_t)campaign->output.size, sizeof *c.laws);
    return status;
}
