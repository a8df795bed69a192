#include "pool/check.h"

#include "pool/validate.h"

#include <string.h>

#define PROGRESS_EVERY 65536 /* reports */

struct checking {
    const struct pool_check_options *options;
    uint8_t id[DPOT_REPORT_ID_LEN]; /* of the last report */
    uint32_t round;                 /* of the last report */
    uint64_t n_read, n_foreign, n_twice;
};

/* Reports are read by round, then by id. */
static void check_id(struct checking *checking, uint32_t round, const struct dpot_report *report)
{
    checking->n_twice += checking->n_read > 1 && round == checking->round &&
                         memcmp(report->id, checking->id, sizeof checking->id) == 0;
    checking->round = round;
    memcpy(checking->id, report->id, sizeof checking->id);
}

static int check_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct checking *checking = ctx;
    const struct pool_check_options *options = checking->options;
    checking->n_read++;
    if (options->campaign &&
        (round >= options->campaign->rounds ||
         validate_report(options->campaign, report, false) != DPOT_REPORT_ACCEPTED)) {
        checking->n_foreign++;
    }
    if (options->checks_ids) {
        check_id(checking, round, report);
    }
    if (options->progress && checking->n_read % PROGRESS_EVERY == 0) {
        options->progress(options->ctx, checking->n_read);
    }
    return 0;
}

static dpot_status conclude(const struct checking *checking, struct dpot_error *error)
{
    if (checking->n_twice > 0) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "%llu stored report%s there twice: restore the store from a backup",
                              (unsigned long long)checking->n_twice,
                              checking->n_twice == 1 ? " is" : "s are");
    }
    return checking->n_foreign == 0
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_CORRUPT,
                                "%llu of %llu stored reports are none of the campaign: restore the "
                                "store from a backup",
                                (unsigned long long)checking->n_foreign,
                                (unsigned long long)checking->n_read);
}

dpot_status pool_check(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                       const struct pool_check_options *options, struct dpot_error *error)
{
    struct checking checking = {.options = options};
    const dpot_status status = store_read_pool(store, hash, check_report, &checking, error);
    return status == DPOT_OK ? conclude(&checking, error) : status;
}
