#include "campaign/registry.h"

#include "campaign/publish.h"
#include "mechanism/mechanism.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 8    /* revisions in a refusal */
#define NAMES_SIZE 200 /* each at most "4294967295 (closed), " */

/* A decoded revision. Content and bytes stay as they are until the registry is freed: callers hold
 * pointers to them. */
struct cache_entry {
    struct dpot_signed_campaign content;
    struct dpot_buf signed_bytes;
    struct revision_record record;
    uint64_t as_of; /* n_changes when the record was read; the record is stale when it differs */
    struct cache_entry *next;
};

struct registry {
    struct store *store;
    const struct dpot_clock *clock;
    uint8_t secret_key[DPOT_SIGN_SECRET_LEN];
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN];
    pthread_mutex_t transitions; /* held from reading a state to changing it */
    pthread_mutex_t cache_mutex; /* of the members below */
    struct cache_entry *cache;
    uint64_t n_changes; /* changes of states in the store */
};

dpot_status registry_new(struct store *store, const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                         const struct dpot_clock *clock, struct registry **registry,
                         struct dpot_error *error)
{
    struct registry *r = dpot_alloc_array(NULL, 1, sizeof *r);
    *registry = r;
    if (!r) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the registry");
    }
    r->store = store;
    r->clock = clock;
    memcpy(r->secret_key, secret_key, sizeof r->secret_key);
    dpot_sign_public(secret_key, r->public_key);
    (void)pthread_mutex_init(&r->transitions, NULL);
    (void)pthread_mutex_init(&r->cache_mutex, NULL);
    return DPOT_OK;
}

static void free_entry(struct cache_entry *entry)
{
    dpot_signed_campaign_release(&entry->content);
    dpot_buf_release(&entry->signed_bytes);
    dpot_free_array(NULL, entry, 1, sizeof *entry);
}

void registry_free(struct registry *registry)
{
    if (!registry) {
        return;
    }
    while (registry->cache) {
        struct cache_entry *entry = registry->cache;
        registry->cache = entry->next;
        free_entry(entry);
    }
    (void)pthread_mutex_destroy(&registry->cache_mutex);
    (void)pthread_mutex_destroy(&registry->transitions);
    dpot_free_secret(NULL, registry, 1, sizeof *registry);
}

const uint8_t *registry_pin(const struct registry *registry)
{
    return registry->public_key;
}

dpot_status registry_sign_keys(const struct registry *registry, const struct dpot_keys *keys,
                               struct dpot_buf *out, struct dpot_error *error)
{
    return dpot_wire_keys_sign(keys, registry->secret_key, out, error);
}

/* ---- creating ---- */

dpot_status registry_create(struct registry *registry, const json_t *spec,
                            struct revision_record *record, struct dpot_error *error)
{
    uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    struct dpot_campaign campaign;
    dpot_random_bytes(id, sizeof id);
    dpot_status status = spec_compile(spec, id, 1, &campaign, error);
    if (status == DPOT_OK) {
        status = publish_draft(registry->store, registry->clock, registry->secret_key, &campaign,
                               record, error);
        dpot_campaign_release(&campaign);
    }
    return status;
}

/* ---- finding by number ---- */

/* The search for a number, and the names of all revisions of the campaign. */
struct selecting {
    const uint8_t *id;
    uint32_t number;
    struct revision_record record; /* revision 0: not found */
    size_t n;
    char names[NAMES_SIZE]; /* "2 (open), 1 (closed)" */
};

static void add_name(struct selecting *selecting, const struct revision_record *record)
{
    const size_t len = strlen(selecting->names);
    if (selecting->n++ < NAMES_MAX) {
        (void)snprintf(selecting->names + len, sizeof selecting->names - len, "%s%u (%s)",
                       len > 0 ? ", " : "", record->revision, revision_state_name(record->state));
    }
}

static int note_revision(void *ctx, const struct revision_record *record)
{
    struct selecting *selecting = ctx;
    if (memcmp(record->campaign_id, selecting->id, DPOT_CAMPAIGN_ID_LEN) != 0) {
        return 0;
    }
    add_name(selecting, record);
    if (record->revision != selecting->number) {
        return 0;
    }
    selecting->record = *record;
    return 1;
}

static dpot_status find_numbered(struct registry *registry, const uint8_t *id, uint32_t number,
                                 struct revision_record *record, struct dpot_error *error)
{
    struct selecting selecting = {.id = id, .number = number};
    const dpot_status status =
        store_list_revisions(registry->store, note_revision, &selecting, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (selecting.n == 0) {
        return dpot_error_set(error, DPOT_ERR_NOT_FOUND, "no campaign has this id: check it");
    }
    if (selecting.record.revision == 0) {
        return dpot_error_set(error, DPOT_ERR_NOT_FOUND,
                              "the campaign has no revision %u: choose from %s%s", number,
                              selecting.names, selecting.n > NAMES_MAX ? " and older ones" : "");
    }
    *record = selecting.record;
    return DPOT_OK;
}

/* ---- changing states ---- */

/* The newest revision of a campaign in each state; revision 0: there is none. */
struct newest {
    const uint8_t *id;
    struct revision_record by_state[REVISION_CLOSED + 1];
};

static int note_newest(void *ctx, const struct revision_record *record)
{
    struct newest *newest = ctx;
    struct revision_record *seen = &newest->by_state[record->state];
    if (memcmp(record->campaign_id, newest->id, DPOT_CAMPAIGN_ID_LEN) == 0 &&
        record->revision > seen->revision) {
        *seen = *record;
    }
    return 0;
}

static dpot_status find_newest(struct registry *registry, const uint8_t *id, struct newest *newest,
                               struct dpot_error *error)
{
    *newest = (struct newest){.id = id};
    const dpot_status status = store_list_revisions(registry->store, note_newest, newest, error);
    if (status == DPOT_OK && newest->by_state[REVISION_DRAFT].revision == 0 &&
        newest->by_state[REVISION_OPEN].revision == 0 &&
        newest->by_state[REVISION_CLOSED].revision == 0) {
        return dpot_error_set(error, DPOT_ERR_NOT_FOUND, "no campaign has this id: check it");
    }
    return status;
}

/* The newest revision in any state: a campaign never goes back to an older one. */
static const struct revision_record *newest_record(const struct newest *newest)
{
    const struct revision_record *record = &newest->by_state[REVISION_DRAFT];
    for (int state = REVISION_OPEN; state <= REVISION_CLOSED; state++) {
        if (newest->by_state[state].revision > record->revision) {
            record = &newest->by_state[state];
        }
    }
    return record;
}

/* Counts a change even if the store fails: it may have been written without confirmation. */
static dpot_status change(struct registry *registry, struct revision_record *record,
                          enum revision_state state, struct dpot_error *error)
{
    const dpot_status status = store_set_state(registry->store, record->hash, state, error);
    (void)pthread_mutex_lock(&registry->cache_mutex);
    registry->n_changes++;
    (void)pthread_mutex_unlock(&registry->cache_mutex);
    if (status == DPOT_OK) {
        record->state = state;
    }
    return status;
}

static dpot_status open_newest(struct registry *registry, const uint8_t *id,
                               struct revision_record *record, struct revision_record *former,
                               struct dpot_error *error)
{
    struct newest newest;
    *former = (struct revision_record){.revision = 0};
    dpot_status status = find_newest(registry, id, &newest, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (newest.by_state[REVISION_DRAFT].revision == newest_record(&newest)->revision) {
        *record = newest.by_state[REVISION_DRAFT];
        status = change(registry, record, REVISION_OPEN, error);
        if (status == DPOT_OK && newest.by_state[REVISION_OPEN].revision > 0) {
            *former = newest.by_state[REVISION_OPEN];
            former->state = REVISION_CLOSED;
        }
        return status;
    }
    if (newest.by_state[REVISION_OPEN].revision > 0) {
        *record = newest.by_state[REVISION_OPEN];
        return DPOT_OK;
    }
    return dpot_error_set(
        error, DPOT_ERR_CLOSED,
        "revision %u of the campaign is closed and never opens again: revise it, or create a new "
        "campaign",
        newest.by_state[REVISION_CLOSED].revision);
}

/* Idempotent: a client repeats a call whose answer was lost, and the second one must not close a
 * draft. */
static dpot_status close_newest(struct registry *registry, const uint8_t *id,
                                struct revision_record *record, struct dpot_error *error)
{
    static const enum revision_state order[] = {REVISION_OPEN, REVISION_CLOSED, REVISION_DRAFT};
    struct newest newest;
    const dpot_status status = find_newest(registry, id, &newest, error);
    if (status != DPOT_OK) {
        return status;
    }
    size_t i = 0;
    while (newest.by_state[order[i]].revision == 0) { /* find_newest found one of the three */
        i++;
    }
    *record = newest.by_state[order[i]];
    return record->state == REVISION_CLOSED ? DPOT_OK
                                            : change(registry, record, REVISION_CLOSED, error);
}

static dpot_status close_numbered(struct registry *registry, const uint8_t *id, uint32_t number,
                                  struct revision_record *record, struct dpot_error *error)
{
    const dpot_status status = find_numbered(registry, id, number, record, error);
    return status != DPOT_OK || record->state == REVISION_CLOSED
               ? status
               : change(registry, record, REVISION_CLOSED, error);
}

dpot_status registry_open_campaign(struct registry *registry,
                                   const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                   struct revision_record *record, struct revision_record *former,
                                   struct dpot_error *error)
{
    struct revision_record ignored;
    (void)pthread_mutex_lock(&registry->transitions);
    const dpot_status status = open_newest(registry, id, record, former ? former : &ignored, error);
    (void)pthread_mutex_unlock(&registry->transitions);
    return status;
}

dpot_status registry_close_campaign(struct registry *registry,
                                    const uint8_t id[DPOT_CAMPAIGN_ID_LEN], uint32_t number,
                                    struct revision_record *record, struct dpot_error *error)
{
    (void)pthread_mutex_lock(&registry->transitions);
    const dpot_status status = number == 0 ? close_newest(registry, id, record, error)
                                           : close_numbered(registry, id, number, record, error);
    (void)pthread_mutex_unlock(&registry->transitions);
    return status;
}

/* ---- reading; under cache_mutex up to registry_get ---- */

/* (R1) */
static dpot_status verify(const struct registry *registry, const struct revision_record *record,
                          struct cache_entry *entry, struct dpot_error *error)
{
    struct dpot_signed_campaign *content = &entry->content;
    dpot_status status = dpot_wire_campaign_open(entry->signed_bytes.data, entry->signed_bytes.len,
                                                 registry->public_key, NULL, content, error);
    if (status == DPOT_OK) {
        status = dpot_mechanism_check_campaign(&content->campaign, error);
    }
    if (status == DPOT_ERR_MEMORY) {
        return status;
    }
    if (status != DPOT_OK) {
        (void)dpot_error_prefix(error, status, "a stored campaign cannot be trusted");
        return DPOT_ERR_CORRUPT;
    }
    if (memcmp(content->hash, record->hash, DPOT_HASH_LEN) != 0 ||
        memcmp(content->campaign.id, record->campaign_id, DPOT_CAMPAIGN_ID_LEN) != 0 ||
        content->campaign.revision != record->revision ||
        strcmp(content->campaign.name, record->name) != 0) {
        return dpot_error_set(
            error, DPOT_ERR_CORRUPT,
            "a stored campaign is not the one its record names: restore the store "
            "from a backup");
    }
    return DPOT_OK;
}

static struct cache_entry *find_cached(const struct registry *registry, const uint8_t *hash)
{
    for (struct cache_entry *e = registry->cache; e; e = e->next) {
        if (memcmp(e->content.hash, hash, DPOT_HASH_LEN) == 0) {
            return e;
        }
    }
    return NULL;
}

static dpot_status load(struct registry *registry, const uint8_t *hash, struct cache_entry **loaded,
                        struct dpot_error *error)
{
    struct cache_entry *entry = dpot_alloc_array(NULL, 1, sizeof *entry);
    if (!entry) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a campaign");
    }
    dpot_buf_init(&entry->signed_bytes, PUBLISH_BYTES_MAX, NULL);
    dpot_status status =
        store_get_revision(registry->store, hash, &entry->record, &entry->signed_bytes, error);
    if (status == DPOT_OK) {
        status = verify(registry, &entry->record, entry, error);
    }
    if (status != DPOT_OK) {
        free_entry(entry);
        return status;
    }
    entry->as_of = registry->n_changes;
    entry->next = registry->cache;
    registry->cache = entry;
    *loaded = entry;
    return DPOT_OK;
}

/* Reads the record again when a state has changed since. */
static dpot_status refresh(struct registry *registry, struct cache_entry *entry,
                           struct dpot_error *error)
{
    if (entry->as_of == registry->n_changes) {
        return DPOT_OK;
    }
    const dpot_status status =
        store_get_revision(registry->store, entry->content.hash, &entry->record, NULL, error);
    if (status == DPOT_OK) {
        entry->as_of = registry->n_changes;
    }
    return status;
}

dpot_status registry_get(struct registry *registry, const uint8_t hash[DPOT_HASH_LEN],
                         struct registry_revision *revision, struct dpot_error *error)
{
    (void)pthread_mutex_lock(&registry->cache_mutex);
    struct cache_entry *entry = find_cached(registry, hash);
    const dpot_status status =
        entry ? refresh(registry, entry, error) : load(registry, hash, &entry, error);
    if (status == DPOT_OK) {
        *revision = (struct registry_revision){.record = entry->record,
                                               .campaign = &entry->content.campaign,
                                               .signed_bytes = &entry->signed_bytes};
    }
    (void)pthread_mutex_unlock(&registry->cache_mutex);
    return status;
}

dpot_status registry_find(struct registry *registry, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                          struct registry_revision *revision, struct dpot_error *error)
{
    struct revision_record record;
    const dpot_status status = store_find_campaign(registry->store, id, &record, NULL, error);
    return status == DPOT_OK ? registry_get(registry, record.hash, revision, error) : status;
}

dpot_status registry_select(struct registry *registry, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                            uint32_t number, struct registry_revision *revision,
                            struct dpot_error *error)
{
    struct revision_record record;
    if (number == 0) {
        return registry_find(registry, id, revision, error);
    }
    const dpot_status status = find_numbered(registry, id, number, &record, error);
    return status == DPOT_OK ? registry_get(registry, record.hash, revision, error) : status;
}

/* ---- revising ---- */

/* Turns the copy into the next revision and stores that as a draft. */
static dpot_status revise_copy(struct registry *registry, struct dpot_campaign *campaign,
                               const json_t *change_spec, struct revision_record *record,
                               struct dpot_error *error)
{
    const dpot_status status = publish_change(registry->store, campaign, change_spec, error);
    return status == DPOT_OK ? publish_draft(registry->store, registry->clock, registry->secret_key,
                                             campaign, record, error)
                             : status;
}

static dpot_status revise_newest(struct registry *registry, const uint8_t *id,
                                 const json_t *change_spec, struct revision_record *record,
                                 struct dpot_error *error)
{
    struct newest newest;
    struct registry_revision revision;
    struct dpot_signed_campaign copy;
    dpot_status status = find_newest(registry, id, &newest, error);
    if (status == DPOT_OK) {
        status = registry_get(registry, newest_record(&newest)->hash, &revision, error);
    }
    if (status == DPOT_OK) {
        status = dpot_wire_campaign_open(revision.signed_bytes->data, revision.signed_bytes->len,
                                         registry->public_key, NULL, &copy, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    status = revise_copy(registry, &copy.campaign, change_spec, record, error);
    dpot_signed_campaign_release(&copy);
    return status;
}

dpot_status registry_revise(struct registry *registry, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                            const json_t *change_spec, struct revision_record *record,
                            struct dpot_error *error)
{
    (void)pthread_mutex_lock(&registry->transitions);
    const dpot_status status = revise_newest(registry, id, change_spec, record, error);
    (void)pthread_mutex_unlock(&registry->transitions);
    return status;
}
