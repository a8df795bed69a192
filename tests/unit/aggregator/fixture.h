/* What the aggregator's tests share: folders, SPECs, a store with an open campaign and an ingest
 * over it, and sealed batches. All functions fail the test on errors. */
#ifndef DPOT_TESTS_AGGREGATOR_FIXTURE_H
#define DPOT_TESTS_AGGREGATOR_FIXTURE_H

#include "campaign/registry.h"
#include "pool/ingest.h"
#include "support/clock.h"
#include "json/json.h"

#define FIXTURE_PATH_SIZE 256
#define FIXTURE_RING_SIZE 10 /* output points of fixture_spec */

/* 2026-06-01T00:00:00Z, inside fixture_spec's window. */
#define FIXTURE_NOW_MS INT64_C(1780272000000)

/* Makes a new folder; removes it with what is in it, two levels deep. */
void fixture_folder(char out[FIXTURE_PATH_SIZE]);
void fixture_remove(const char *folder);

/* out = folder/name */
void fixture_path(char out[FIXTURE_PATH_SIZE], const char *folder, const char *name);
void fixture_write(const char *path, const char *text);

/* A SPEC over a ring of 10, epsilon 1, one round from 2026-01-01 to 2027-01-01. New reference. */
json_t *fixture_spec(void);
json_t *fixture_json(const char *text);

/* The SPEC example of the operator's page. */
extern const char fixture_census_spec[];

/* A store, a registry and an ingest with one open campaign. Must not move. */
struct rig {
    struct test_clock clock;
    uint8_t secret_key[DPOT_SIGN_SECRET_LEN];
    struct seal_secret secret;
    struct store *store;
    struct registry *registry;
    struct revision_record record; /* of the open revision */
    size_t report_len_max;         /* of its campaign */
    struct ingest ingest;
};

/* Takes `spec`. */
void rig_init(struct rig *rig, const char *url, json_t *spec);
void rig_release(struct rig *rig);

/* Closes store and registry and opens them again from `url`; the second after rig_release. */
void rig_reopen(struct rig *rig, const char *url);
void rig_resume(struct rig *rig, const char *url);

/* Report number n: a unique id, index n % FIXTURE_RING_SIZE. */
struct dpot_report fixture_report(uint32_t n);

/* Puts reports into the order in which a pool of one round is read. */
void fixture_sort(struct dpot_report *reports, size_t n);

/* Appends the unpadded body of one POST, as older devices send it. */
void fixture_seal(const struct dpot_seal_key *key, const uint8_t hash[DPOT_HASH_LEN],
                  uint32_t round, const struct dpot_report *reports, size_t n,
                  struct dpot_buf *out);

/* rig_body: the same for the rig's campaign, padded unless reports exceed its maximal length. The
 * other computes that length again after the rig's record was changed. */
void rig_seal(const struct rig *rig, const struct dpot_seal_key *key, uint32_t round,
              const struct dpot_report *reports, size_t n, struct dpot_buf *out);
void rig_find_length(struct rig *rig);

/* Seals and ingests; statuses (n) may be NULL. */
enum ingest_verdict rig_post(struct rig *rig, uint32_t round, const struct dpot_report *reports,
                             size_t n, enum dpot_report_status *statuses);

/* The number that a statement gives about a database. */
int64_t fixture_ask(const char *path, const char *sql);

/* Statements that change a store to version 4, whose commits have numbers; without its header. */
#define FIXTURE_N_TO_VERSION_4 7
extern const char *const fixture_to_version_4[FIXTURE_N_TO_VERSION_4];

struct pool_count rig_count(const struct rig *rig);

/* Appends an artifact with the value 1, as this job would end with. */
void fixture_artifact(const struct job_record *job, struct dpot_buf *out);

#endif
