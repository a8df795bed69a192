/* The revisions whose reports were found damaged since the store was opened: one entry each. */
#include "store/sqlite_store.h"

#include <string.h>

struct sqlite_damage {
    struct sqlite_damage *next;
    uint8_t hash[DPOT_HASH_LEN];
    int64_t round; /* or SQLITE_ALL_ROUNDS */
    struct dpot_error error;
};

static bool is_of(const struct sqlite_damage *damage, const uint8_t *hash)
{
    return memcmp(damage->hash, hash, DPOT_HASH_LEN) == 0;
}

static const struct sqlite_damage *find(const struct sqlite_store *s, const uint8_t *hash)
{
    const struct sqlite_damage *damage = s->damages;
    while (damage && !is_of(damage, hash)) {
        damage = damage->next;
    }
    return damage;
}

/* Without memory the damage is noted by the next read that finds it. */
static void add(struct sqlite_store *s, const uint8_t *hash, int64_t round, const char *sentence)
{
    struct sqlite_damage *damage = find(s, hash) ? NULL : dpot_alloc_array(NULL, 1, sizeof *damage);
    if (damage) {
        *damage = (struct sqlite_damage){.next = s->damages, .round = round};
        memcpy(damage->hash, hash, sizeof damage->hash);
        (void)dpot_error_set(&damage->error, DPOT_ERR_CORRUPT, "%s", sentence);
        s->damages = damage;
    }
}

/* Removes the damage that a sound read of `round` disproves. */
static void remove_mended(struct sqlite_store *s, const uint8_t *hash, int64_t round)
{
    for (struct sqlite_damage **at = &s->damages; *at; at = &(*at)->next) {
        struct sqlite_damage *damage = *at;
        if (is_of(damage, hash) && (round == SQLITE_ALL_ROUNDS || damage->round == round)) {
            *at = damage->next;
            dpot_free_array(NULL, damage, 1, sizeof *damage);
            return;
        }
    }
}

void sqlite_store_note_read(struct sqlite_store *s, const uint8_t *hash, int64_t round,
                            dpot_status status, const struct dpot_error *error)
{
    (void)pthread_mutex_lock(&s->notes_mutex);
    if (status == DPOT_ERR_CORRUPT) {
        const bool has_sentence = error && error->text[0] != '\0';
        add(s, hash, round, has_sentence ? error->text : dpot_status_text(status));
    } else if (status == DPOT_OK) {
        remove_mended(s, hash, round);
    }
    (void)pthread_mutex_unlock(&s->notes_mutex);
}

size_t sqlite_store_count_damaged(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    size_t n = 0;
    (void)pthread_mutex_lock(&s->notes_mutex);
    for (const struct sqlite_damage *damage = s->damages; damage; damage = damage->next) {
        n++;
    }
    (void)pthread_mutex_unlock(&s->notes_mutex);
    return n;
}

bool sqlite_store_is_damaged(struct store *store, const uint8_t *hash, struct dpot_error *sentence)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    (void)pthread_mutex_lock(&s->notes_mutex);
    const struct sqlite_damage *damage = find(s, hash);
    if (damage && sentence) {
        *sentence = damage->error;
    }
    (void)pthread_mutex_unlock(&s->notes_mutex);
    return damage != NULL;
}

void sqlite_store_forget_damage(struct sqlite_store *s)
{
    while (s->damages) {
        struct sqlite_damage *damage = s->damages;
        s->damages = damage->next;
        dpot_free_array(NULL, damage, 1, sizeof *damage);
    }
}
