/* What reading reports has found damaged since the store was opened: an entry for each round. */
#include "store/sqlite_store.h"

#include "base/clock.h"

#include <string.h>

#define READ_AGAIN_MS 2000 /* at the earliest, and nine times as long as the read took */

struct sqlite_damage {
    struct sqlite_damage *next;
    uint8_t hash[DPOT_HASH_LEN];
    int64_t round; /* or SQLITE_ALL_ROUNDS */
    int64_t read_again_ms;
    struct dpot_error error;
};

static bool is_of(const struct sqlite_damage *damage, const uint8_t *hash)
{
    return memcmp(damage->hash, hash, DPOT_HASH_LEN) == 0;
}

/* The latest of a revision. */
static const struct sqlite_damage *find(const struct sqlite_store *s, const uint8_t *hash)
{
    const struct sqlite_damage *damage = s->damages;
    while (damage && !is_of(damage, hash)) {
        damage = damage->next;
    }
    return damage;
}

static struct sqlite_damage *find_round(struct sqlite_store *s, const uint8_t *hash, int64_t round)
{
    struct sqlite_damage *damage = s->damages;
    while (damage && !(damage->round == round && is_of(damage, hash))) {
        damage = damage->next;
    }
    return damage;
}

/* Without memory the damage is noted by the next read that finds it. */
static struct sqlite_damage *add(struct sqlite_store *s, const uint8_t *hash, int64_t round)
{
    struct sqlite_damage *damage = dpot_alloc_array(NULL, 1, sizeof *damage);
    if (damage) {
        *damage = (struct sqlite_damage){.next = s->damages, .round = round};
        memcpy(damage->hash, hash, sizeof damage->hash);
        s->damages = damage;
    }
    return damage;
}

static void note(struct sqlite_store *s, const uint8_t *hash, int64_t round, int64_t took_ms,
                 const char *sentence)
{
    struct sqlite_damage *damage = find_round(s, hash, round);
    damage = damage ? damage : add(s, hash, round);
    if (damage) {
        const int64_t pause_ms = 9 * took_ms < READ_AGAIN_MS ? READ_AGAIN_MS : 9 * took_ms;
        damage->read_again_ms = dpot_clock_monotonic_ms() + pause_ms;
        (void)dpot_error_set(&damage->error, DPOT_ERR_CORRUPT, "%s", sentence);
    }
}

/* Removes the damage that a sound read of `round` disproves. */
static void remove_mended(struct sqlite_store *s, const uint8_t *hash, int64_t round)
{
    struct sqlite_damage **at = &s->damages;
    while (*at) {
        struct sqlite_damage *damage = *at;
        if (is_of(damage, hash) && (round == SQLITE_ALL_ROUNDS || damage->round == round)) {
            *at = damage->next;
            dpot_free_array(NULL, damage, 1, sizeof *damage);
        } else {
            at = &damage->next;
        }
    }
}

void sqlite_store_note_read(struct sqlite_store *s, const uint8_t *hash, int64_t round,
                            int64_t took_ms, dpot_status status, const struct dpot_error *error)
{
    (void)pthread_mutex_lock(&s->notes_mutex);
    if (status == DPOT_ERR_CORRUPT) {
        const bool has_sentence = error && error->text[0] != '\0';
        note(s, hash, round, took_ms, has_sentence ? error->text : dpot_status_text(status));
    } else if (status == DPOT_OK) {
        remove_mended(s, hash, round);
    }
    (void)pthread_mutex_unlock(&s->notes_mutex);
}

dpot_status sqlite_store_check_known(struct sqlite_store *s, const uint8_t *hash, int64_t round,
                                     struct dpot_error *error)
{
    (void)pthread_mutex_lock(&s->notes_mutex);
    const struct sqlite_damage *damage = find_round(s, hash, round);
    const dpot_status status =
        damage && dpot_clock_monotonic_ms() < damage->read_again_ms
            ? dpot_error_set(error, DPOT_ERR_CORRUPT, "%s", damage->error.text)
            : DPOT_OK;
    (void)pthread_mutex_unlock(&s->notes_mutex);
    return status;
}

size_t sqlite_store_count_damaged(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    size_t n = 0;
    (void)pthread_mutex_lock(&s->notes_mutex);
    for (const struct sqlite_damage *damage = s->damages; damage; damage = damage->next) {
        n += find(s, damage->hash) == damage; /* each revision once */
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
