#include "pool/channel.h"

#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"

dpot_status channel_check(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    const uint64_t n_rows = campaign->domain.size, n_cols = campaign->output.size;
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE,
            "the campaign's mechanism is %s, whose reports are vectors: only those of wpm, kpm "
            "and exponential have a channel between points",
            dpot_mechanism_name(campaign->mechanism));
    }
    if (dpot_campaign_is_sphere(campaign)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the campaign is on a sphere, whose reports name directions of their "
                              "own: only a list of points has a channel");
    }
    if (!campaign->sample_first && campaign->n_max > 1) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE,
            "a device of this campaign projects up to %u places at once, whose law is no mixture "
            "of the laws of single places: set \"sample_first\": true, or \"n_max\": 1",
            (unsigned)campaign->n_max);
    }
    return n_rows * n_cols <= CHANNEL_SIZE_MAX
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                "the channel of the campaign has %llu x %llu entries: at most %llu "
                                "are held, use "
                                "fewer points",
                                (unsigned long long)n_rows, (unsigned long long)n_cols,
                                (unsigned long long)CHANNEL_SIZE_MAX);
}

/* To compute one law after the other. */
struct workspace {
    struct dpot_privatizer *privatizer;
    struct dpot_private_measure own;
    double *histogram; /* (domain size) */
    uint64_t *weights; /* (output size) */
};

static dpot_status workspace_init(struct workspace *workspace, const struct dpot_campaign *campaign,
                                  struct dpot_error *error)
{
    dpot_status status = dpot_privatizer_new(campaign, NULL, &workspace->privatizer, error);
    if (status == DPOT_OK) {
        status = dpot_private_measure_init(&workspace->own, campaign->n_max, NULL);
    }
    workspace->histogram =
        dpot_alloc_array(NULL, campaign->domain.size, sizeof *workspace->histogram);
    workspace->weights = dpot_alloc_array(NULL, campaign->output.size, sizeof *workspace->weights);
    return status == DPOT_OK && !(workspace->histogram && workspace->weights)
               ? dpot_error_set(error, DPOT_ERR_MEMORY,
                                "out of memory for the laws of the campaign")
               : status;
}

static void workspace_release(struct workspace *workspace, const struct dpot_campaign *campaign)
{
    dpot_privatizer_free(workspace->privatizer);
    dpot_private_measure_release(&workspace->own);
    dpot_free_array(NULL, workspace->histogram, campaign->domain.size,
                    sizeof *workspace->histogram);
    dpot_free_array(NULL, workspace->weights, campaign->output.size, sizeof *workspace->weights);
}

dpot_status channel_fill(const struct dpot_campaign *campaign, bool (*stops)(void *ctx), void *ctx,
                         double *channel, struct dpot_error *error)
{
    struct workspace workspace = {0};
    const size_t n_rows = campaign->domain.size, n_cols = campaign->output.size;
    dpot_status status = channel_check(campaign, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = workspace_init(&workspace, campaign, error);
    for (size_t l = 0; status == DPOT_OK && l < n_rows; l++) {
        workspace.histogram[l] = 1; /* dpot_private_measure_set wipes it */
        dpot_private_measure_set(&workspace.own, workspace.histogram, n_rows);
        dpot_privatizer_law(workspace.privatizer, &workspace.own, workspace.weights);
        for (size_t j = 0; j < n_cols; j++) {
            channel[l * n_cols + j] = (double)workspace.weights[j] / (double)DPOT_MASS_ONE;
        }
        if (stops && stops(ctx)) {
            break;
        }
    }
    workspace_release(&workspace, campaign);
    return status;
}
