#include "pool/snapshot.h"

#include "pool/validate.h"

#include <string.h>

/* Bytes that are hashed at once. */
#define HEAD_MAX (4 + DPOT_REPORT_ID_LEN + 4 + 4)
#define VALUE_LEN 8
#define VALUES_AT_ONCE 128

static dpot_status take(const struct snapshot_source *source,
                        const struct registry_revision *revision, struct snapshot *snapshot,
                        struct dpot_error *error)
{
    struct pool_count count;
    const dpot_status status =
        store_count_pool(source->store, revision->record.hash, &count, error);
    *snapshot = (struct snapshot){.store = source->store,
                                  .campaign = revision->campaign,
                                  .state = revision->record.state,
                                  .n_accepted = count.n_accepted};
    memcpy(snapshot->hash, revision->record.hash, sizeof snapshot->hash);
    return status;
}

dpot_status snapshot_take(const struct snapshot_source *source, const uint8_t hash[DPOT_HASH_LEN],
                          struct snapshot *snapshot, struct dpot_error *error)
{
    struct registry_revision revision;
    const dpot_status status = registry_get(source->registry, hash, &revision, error);
    return status == DPOT_OK ? take(source, &revision, snapshot, error) : status;
}

dpot_status snapshot_find(const struct snapshot_source *source,
                          const uint8_t id[DPOT_CAMPAIGN_ID_LEN], uint32_t number,
                          struct snapshot *snapshot, struct dpot_error *error)
{
    struct registry_revision revision;
    const dpot_status status = registry_select(source->registry, id, number, &revision, error);
    return status == DPOT_OK ? take(source, &revision, snapshot, error) : status;
}

dpot_status snapshot_check_ready(const struct snapshot *snapshot, struct dpot_error *error)
{
    const uint64_t min_pool = snapshot->campaign->min_pool;
    if (snapshot->n_accepted < min_pool) {
        return dpot_error_set(error, DPOT_ERR_STATE,
                              "not yet: %llu of %llu accepted report%s in revision %u: wait until "
                              "the pool reaches the campaign's min_pool",
                              (unsigned long long)snapshot->n_accepted,
                              (unsigned long long)min_pool, DPOT_S(min_pool),
                              snapshot->campaign->revision);
    }
    return DPOT_OK;
}

/* A snapshot_read in progress. */
struct reading {
    const struct dpot_campaign *campaign;
    struct dpot_hasher hasher;
    uint64_t n, n_max;
    store_each_report each;
    void *ctx;
    bool is_ended;   /* by `each` */
    bool is_foreign; /* a report is not of the campaign */
};

static void hash_values(struct dpot_hasher *hasher, const int64_t *values, size_t n)
{
    uint8_t bytes[VALUES_AT_ONCE * VALUE_LEN];
    for (size_t first = 0; first < n; first += VALUES_AT_ONCE) {
        const size_t n_now = n - first < VALUES_AT_ONCE ? n - first : VALUES_AT_ONCE;
        for (size_t j = 0; j < n_now; j++) {
            dpot_store_u64(bytes + VALUE_LEN * j, (uint64_t)values[first + j]);
        }
        dpot_hasher_add(hasher, bytes, n_now * VALUE_LEN);
    }
}

static void hash_report(struct dpot_hasher *hasher, uint32_t round,
                        const struct dpot_report *report, bool has_groups)
{
    uint8_t head[HEAD_MAX];
    size_t len = 4 + DPOT_REPORT_ID_LEN;
    dpot_store_u32(head, round);
    memcpy(head + 4, report->id, DPOT_REPORT_ID_LEN);
    if (has_groups) {
        dpot_store_u32(head + len, report->group);
        len += 4;
    }
    dpot_store_u32(head + len, report->n_values > 0 ? report->n_values : report->index);
    dpot_hasher_add(hasher, head, len + 4);
    hash_values(hasher, report->values, report->n_values);
}

static int pass_on(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct reading *reading = ctx;
    if (reading->n == reading->n_max) {
        return 1;
    }
    if (!validate_shape(reading->campaign, report)) {
        reading->is_foreign = true;
        return 1;
    }
    hash_report(&reading->hasher, round, report, reading->campaign->n_groups > 0);
    reading->n++;
    reading->is_ended = reading->each(reading->ctx, round, report) != 0;
    return reading->is_ended;
}

dpot_status snapshot_read(const struct snapshot *snapshot, store_each_report each, void *ctx,
                          uint64_t *n_read, uint8_t checksum[DPOT_HASH_LEN],
                          struct dpot_error *error)
{
    struct reading reading = {
        .campaign = snapshot->campaign, .n_max = snapshot->n_accepted, .each = each, .ctx = ctx};
    dpot_hasher_init(&reading.hasher);
    const dpot_status status =
        store_read_pool(snapshot->store, snapshot->hash, pass_on, &reading, error);
    dpot_hasher_end(&reading.hasher, checksum);
    *n_read = reading.n;
    if (status == DPOT_OK && reading.is_foreign) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "a stored report is not of its campaign: restore the store from a "
                              "backup");
    }
    if (status == DPOT_OK && !reading.is_ended && reading.n < reading.n_max) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "the store holds %llu report%s and counted %llu: restore it from a "
                              "backup",
                              (unsigned long long)reading.n, DPOT_S(reading.n),
                              (unsigned long long)reading.n_max);
    }
    return status;
}
