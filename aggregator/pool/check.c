#include "pool/check.h"

#include "pool/judge.h"

#define TELL_EVERY 65536 /* reports */

struct checking {
    const struct dpot_campaign *campaign;
    pool_progress progress;
    void *ctx;
    uint64_t n_read, n_foreign;
};

static int check_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct checking *checking = ctx;
    checking->n_read++;
    if (checking->campaign &&
        (round >= checking->campaign->rounds ||
         judge_report(checking->campaign, report, false) != DPOT_REPORT_ACCEPTED)) {
        checking->n_foreign++;
    }
    if (checking->progress && checking->n_read % TELL_EVERY == 0) {
        checking->progress(checking->ctx, checking->n_read);
    }
    return 0;
}

dpot_status pool_check(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                       const struct dpot_campaign *campaign, pool_progress progress, void *ctx,
                       struct dpot_error *error)
{
    struct checking checking = {.campaign = campaign, .progress = progress, .ctx = ctx};
    const dpot_status status = store_read_pool(store, hash, check_report, &checking, error);
    if (status == DPOT_OK && checking.n_foreign > 0) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "%llu of %llu stored reports are none of the campaign: restore the "
                              "store from a backup",
                              (unsigned long long)checking.n_foreign,
                              (unsigned long long)checking.n_read);
    }
    return status;
}
