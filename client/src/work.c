#include "work.h"

#include "base/clock.h"
#include "draft.h"
#include "storage/files.h"

#include <stdio.h>
#include <string.h>

#define N_RUNS 3         /* the shortest counts: the others were interrupted */
#define LONG_US 100000   /* of a run: an interruption matters little */
#define NOTICED_US 10000 /* a smaller difference of two runs is noise */

static const uint8_t magic[8] = {'D', 'P', 'O', 'T', 'W', 'R', 'K', '1'};

/* Layout of the file; everything little-endian. */
enum {
    HASH_AT = sizeof magic,
    STEPS_AT = HASH_AT + DPOT_HASH_LEN,
    MEASURED_AT = STEPS_AT + 8,
    WORK_AT = MEASURED_AT + 8, /* u32 */
    MAC_AT = WORK_AT + 4,
    FILE_LEN = MAC_AT + DPOT_MAC_LEN,
};

/* ---- the file ---- */

static void name_file(const struct dpot_signed_campaign *revision,
                      char name[DPOT_FILE_NAME_MAX + 1])
{
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    dpot_hex_encode(hex, revision->campaign.id, DPOT_CAMPAIGN_ID_LEN);
    (void)snprintf(name, DPOT_FILE_NAME_MAX + 1, "work-%s", hex);
}

static void seal(const dpot_client *client, const uint8_t *raw, uint8_t mac[DPOT_MAC_LEN])
{
    static const uint8_t no_previous[DPOT_MAC_LEN];
    dpot_mac(&client->journal.install, no_previous, raw, MAC_AT, mac);
}

static bool load(const dpot_client *client, const struct dpot_signed_campaign *revision,
                 struct dpot_work *work)
{
    char name[DPOT_FILE_NAME_MAX + 1];
    uint8_t mac[DPOT_MAC_LEN];
    struct dpot_buf file;
    name_file(revision, name);
    dpot_buf_init(&file, FILE_LEN, client->config.allocator);
    bool is_valid = dpot_file_read(client->journal.filesystem, name, &file) == DPOT_OK &&
                    file.len == FILE_LEN && memcmp(file.data, magic, sizeof magic) == 0 &&
                    memcmp(file.data + HASH_AT, revision->hash, DPOT_HASH_LEN) == 0 &&
                    dpot_load_u64(file.data + STEPS_AT) == work->steps;
    if (is_valid) {
        seal(client, file.data, mac);
        is_valid = dpot_secret_equal(mac, file.data + MAC_AT, sizeof mac);
    }
    if (is_valid) {
        work->measured_us = dpot_load_u64(file.data + MEASURED_AT);
        work->work_ms = dpot_load_u32(file.data + WORK_AT);
    }
    dpot_buf_release(&file);
    return is_valid;
}

bool dpot_work_load(const dpot_client *client, const struct dpot_signed_campaign *revision,
                    struct dpot_work *work)
{
    *work = (struct dpot_work){.steps = dpot_mechanism_steps(&revision->campaign),
                               .bytes = dpot_draft_bytes(&revision->campaign),
                               .work_ms = client->fixed_work_ms};
    return client->fixed_work_ms > 0 || load(client, revision, work);
}

/* Failures are ignored: the work is measured again next time. */
static void store(const dpot_client *client, const struct dpot_signed_campaign *revision,
                  const struct dpot_work *work)
{
    char name[DPOT_FILE_NAME_MAX + 1];
    uint8_t raw[FILE_LEN];
    name_file(revision, name);
    memcpy(raw, magic, sizeof magic);
    memcpy(raw + HASH_AT, revision->hash, DPOT_HASH_LEN);
    dpot_store_u64(raw + STEPS_AT, work->steps);
    dpot_store_u64(raw + MEASURED_AT, work->measured_us);
    dpot_store_u32(raw + WORK_AT, work->work_ms);
    seal(client, raw, raw + MAC_AT);
    (void)!dpot_file_replace(client->journal.filesystem, name, raw, sizeof raw);
}

/* ---- measuring ---- */

/* The number that the work grows with: iterations, passes or rows. NULL: vectors, whose work is
 * short. */
static uint32_t *repetitions_of(struct dpot_campaign *campaign)
{
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
        return NULL;
    }
    if (campaign->mechanism != DPOT_MECHANISM_WPM) {
        return &campaign->n_max;
    }
    if (campaign->iterations > 0) {
        return &campaign->iterations;
    }
    campaign->passes = dpot_campaign_passes(campaign);
    return &campaign->passes;
}

static dpot_status time_run(const dpot_client *client, const struct dpot_campaign *campaign,
                            uint64_t *us, struct dpot_error *error)
{
    static const struct dpot_device_data no_data;
    struct dpot_draft draft;
    const int64_t start_us = dpot_client_steady_us(client);
    const dpot_status status = dpot_draft_init(&draft, campaign, client->config.allocator, error);
    if (status == DPOT_OK) {
        dpot_rng_init(draft.rng, &dpot_rng_source_sodium);
        dpot_draft_make(&draft, &no_data);
        const uint64_t run_us = (uint64_t)(dpot_client_steady_us(client) - start_us);
        *us = run_us < *us ? run_us : *us;
    }
    dpot_draft_release(&draft);
    return status;
}

/* The shortest of N_RUNS runs; a long one is run once. */
static dpot_status time_shortest(const dpot_client *client, const struct dpot_campaign *campaign,
                                 uint64_t *us, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    *us = UINT64_MAX;
    for (int i = 0; status == DPOT_OK && i < N_RUNS && (i == 0 || *us < LONG_US); i++) {
        status = time_run(client, campaign, us, error);
    }
    return status;
}

/* The time of n repetitions, where 1 took one_us and k > 1 took some_us. */
static uint64_t extrapolate(uint64_t one_us, uint64_t some_us, uint32_t k, uint32_t n)
{
    const uint64_t more_us = some_us > one_us ? some_us - one_us : 1;
    const uint64_t rest = (uint64_t)n - k;
    return more_us > UINT64_MAX / 2 / (rest + 1) ? UINT64_MAX / 2
                                                 : some_us + (more_us * rest + k - 2) / (k - 1);
}

/* Runs only a part of a long campaign, so that a server cannot keep a device busy with one: one
 * repetition, and as many as take noticeably longer. Stops when one is above the cap already. */
static dpot_status measure(const dpot_client *client, const struct dpot_campaign *campaign,
                           uint64_t *us, struct dpot_error *error)
{
    struct dpot_campaign part = *campaign; /* borrows its arrays */
    uint32_t *repetitions = repetitions_of(&part);
    const uint32_t n = repetitions ? *repetitions : 1;
    const uint64_t most_us = (uint64_t)client->config.work_max_ms * 1000;
    uint64_t one_us = 0;
    for (uint32_t k = 1;; k = k < n / 4 ? 4 * k : n) {
        if (repetitions) {
            *repetitions = k;
        }
        const dpot_status status = time_shortest(client, &part, us, error);
        one_us = k == 1 ? *us : one_us;
        if (status != DPOT_OK || k == n || (most_us > 0 && *us > most_us)) {
            return status;
        }
        if (k > 1 && *us >= 2 * one_us + NOTICED_US) {
            *us = extrapolate(one_us, *us, k, n);
            return DPOT_OK;
        }
    }
}

/* The first power of two that is at least need_ms; at most 2^31. */
static uint32_t round_up(uint64_t need_ms, uint32_t least_ms)
{
    uint32_t ms = least_ms;
    while (ms < (uint32_t)1 << 31 && ms < need_ms) {
        ms *= 2;
    }
    return ms;
}

static dpot_status measure_all(const dpot_client *client, const struct dpot_campaign *campaign,
                               uint64_t load_us, struct dpot_work *work, struct dpot_error *error)
{
    const int64_t start_us = dpot_client_steady_us(client);
    const dpot_status status = measure(client, campaign, &work->measured_us, error);
    if (status == DPOT_OK) {
        work->measured_us += load_us > 0 ? load_us : 1; /* 0 means not measured */
        work->work_ms = round_up(work->measured_us / 500 + 1 + DPOT_WORK_DISK_MS, DPOT_WORK_MIN_MS);
        work->extra_ms =
            round_up((uint64_t)(dpot_client_steady_us(client) - start_us) / 1000 + 1, 1);
    }
    return status;
}

/* ---- the caps ---- */

static dpot_status check_memory(dpot_client *client, const struct dpot_campaign *campaign,
                                const struct dpot_work *work)
{
    const uint64_t most = client->config.memory_max_bytes;
    if (most == 0 || work->bytes <= most) {
        return DPOT_OK;
    }
    return dpot_error_set(&client->error, DPOT_ERR_TOO_LARGE,
                          "campaign \"%s\": a report takes %llu bytes of memory, more than "
                          "config.memory_max_bytes, %llu; nothing was charged",
                          campaign->name, (unsigned long long)work->bytes,
                          (unsigned long long)most);
}

static dpot_status check_time(dpot_client *client, const struct dpot_campaign *campaign,
                              const struct dpot_work *work)
{
    if (client->config.work_max_ms == 0 || work->work_ms <= client->config.work_max_ms) {
        return DPOT_OK;
    }
    return dpot_error_set(
        &client->error, DPOT_ERR_TOO_LARGE,
        "campaign \"%s\": a report takes about %llu ms of work on this device, so "
        "that its work time is %u ms, more than config.work_max_ms, %u; nothing "
        "was charged",
        campaign->name, (unsigned long long)(work->measured_us / 1000), (unsigned)work->work_ms,
        (unsigned)client->config.work_max_ms);
}

dpot_status dpot_work_find(dpot_client *client, const struct dpot_signed_campaign *revision,
                           uint64_t load_us, struct dpot_work *work)
{
    const struct dpot_campaign *campaign = &revision->campaign;
    const bool is_known = dpot_work_load(client, revision, work);
    dpot_status status = check_memory(client, campaign, work);
    if (status == DPOT_OK && !is_known) {
        status = measure_all(client, campaign, load_us, work, &client->error);
    }
    if (status == DPOT_OK) {
        status = check_time(client, campaign, work);
    }
    if (status == DPOT_OK && !is_known) {
        store(client, revision, work);
    }
    return status;
}
