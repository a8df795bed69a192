/* dpot estimate: maximum likelihood behind the channel of a campaign whose devices report one
 * place. */
#include "tool/estimate/estimate.h"

#include "base/alloc.h"
#include "pool/channel.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"

#include <string.h>

static bool step_channel(void *ctx)
{
    struct progress *progress = ctx;
    progress_step(progress, progress->n_done + 1);
    return false;
}

static dpot_status fill_channel(struct estimate *e)
{
    const struct dpot_campaign *campaign = &e->file.campaign;
    struct progress progress;
    dpot_status status = channel_check(campaign, &e->run->error);
    if (status != DPOT_OK) {
        return status;
    }
    e->channel = dpot_alloc_array(NULL, campaign->domain.size * e->kv, sizeof(double));
    if (!e->channel) {
        return dpot_error_set(&e->run->error, DPOT_ERR_MEMORY,
                              "out of memory for the channel of %u x %zu",
                              (unsigned)campaign->domain.size, e->kv);
    }
    progress_init(&progress, e->run, "channel", campaign->domain.size);
    status = channel_fill(campaign, step_channel, &progress, e->channel, &e->run->error);
    progress_end(&progress);
    return status;
}

/* Sets the prior, which is also the start of EM. */
static dpot_status take_start(struct estimate *e)
{
    const size_t k = e->file.campaign.domain.size;
    struct array start;
    dpot_status status = array_init(&e->prior, k, 1, true);
    if (status != DPOT_OK) {
        return status;
    }
    e->prior_is = "uniform";
    for (size_t l = 0; l < k; l++) {
        e->prior.values[l] = 1 / (double)k;
    }
    if (!option_is_given(e->run, "init")) {
        return DPOT_OK;
    }
    status = load_measure(e->run, "init", k, &start);
    if (status == DPOT_OK) {
        e->prior_is = "start";
        memcpy(e->prior.values, start.values, k * sizeof *start.values);
    }
    array_release(&start);
    return status;
}

static dpot_status run_em(struct estimate *e)
{
    const size_t k = e->file.campaign.domain.size;
    double *counts = dpot_alloc_array(NULL, e->kv, sizeof *counts);
    if (!counts) {
        return dpot_error_set(&e->run->error, DPOT_ERR_MEMORY, "out of memory for %zu counts",
                              e->kv);
    }
    for (size_t i = 0; i < e->n; i++) {
        counts[e->pool[i]] += 1;
    }
    const struct channel_em_config config = {
        .n_inputs = k,
        .n_outputs = e->kv,
        .channel = e->channel,
        .counts = counts,
        .start = e->prior.values,
        .min_iterations = CHANNEL_EM_MIN_ITERATIONS,
        .max_iterations = CHANNEL_EM_MAX_ITERATIONS,
        .tol = CHANNEL_EM_TOL,
        .linalg = dpot_linalg_openblas(),
    };
    dpot_status status = channel_em_run(&config, NULL, &e->em, &e->run->error);
    if (status == DPOT_OK) {
        status = array_init(&e->values, k, 1, true);
    }
    if (status == DPOT_OK) {
        memcpy(e->values.values, e->em.weights, k * sizeof *e->em.weights);
    }
    dpot_free_array(NULL, counts, e->kv, sizeof *counts);
    return status;
}

dpot_status estimate_likelihood(struct estimate *e)
{
    dpot_status status = take_start(e);
    if (status == DPOT_OK) {
        status = fill_channel(e);
    }
    return status == DPOT_OK ? run_em(e) : status;
}
