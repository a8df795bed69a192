/* Compares a store with the log of the observer of a network, report by report.
 *
 *     chaos_verify STORE LOG [LINES]
 *
 * STORE is a file that nobody writes. With LINES the store is a copy made after so many lines of
 * LOG: it may hold more than these lines say. Prints "NAME N" lines; exit 1 when one of these does
 * not hold:
 *
 *   every acknowledged report (accepted or duplicate, delivered or lost) is in a pool, once
 *   no report is in the pools twice
 *   each report in the pools was sent by a device, with the same round and index
 *   every sending of a report was the same
 *   at most one answer said accepted */
#include "base/crypto.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEX_SIZE (2 * DPOT_REPORT_ID_LEN + 1)

struct entry {
    char id[HEX_SIZE];
    unsigned round, index;
    unsigned n_sent, n_accepted, n_acknowledged, n_told, n_pooled;
};

static struct entry *entries; /* by open addressing */
static size_t n_entries, cap;
static unsigned long n_faults, n_unread;

static size_t place_of(const char *id)
{
    char text[17];
    memcpy(text, id, 16); /* ids are random: their first digits are a hash */
    text[16] = '\0';
    size_t at = (size_t)strtoull(text, NULL, 16) & (cap - 1);
    while (entries[at].id[0] && strcmp(entries[at].id, id) != 0) {
        at = (at + 1) & (cap - 1);
    }
    return at;
}

static void grow(void)
{
    struct entry *old = entries;
    const size_t old_cap = cap;
    cap = cap ? 2 * cap : 4096;
    entries = calloc(cap, sizeof *entries);
    if (!entries) {
        (void)fprintf(stderr, "chaos_verify: out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < old_cap; i++) {
        if (old[i].id[0]) {
            entries[place_of(old[i].id)] = old[i];
        }
    }
    free(old);
}

static struct entry *entry_of(const char *id)
{
    if (2 * n_entries >= cap) {
        grow();
    }
    struct entry *e = &entries[place_of(id)];
    if (!e->id[0]) {
        (void)snprintf(e->id, sizeof e->id, "%s", id);
        n_entries++;
    }
    return e;
}

static void fault(const char *id, const char *sentence)
{
    (void)fprintf(stderr, "report %s: %s\n", id, sentence);
    n_faults++;
}

/* ---- the log ---- */

static void take_sent(struct entry *e, const char *rest)
{
    unsigned round = 0, index = 0;
    if (sscanf(rest, "%u %u", &round, &index) != 2) {
        fault(e->id, "its line is cut");
    } else if (e->n_sent++ == 0) {
        e->round = round;
        e->index = index;
    } else if (e->round != round || e->index != index) {
        fault(e->id, "was sent again with another content");
    }
}

static void take_answer(struct entry *e, const char *rest, bool is_told)
{
    const bool is_accepted = strcmp(rest, "accepted") == 0;
    const bool is_acknowledged = is_accepted || strcmp(rest, "duplicate") == 0;
    e->n_accepted += is_accepted;
    e->n_acknowledged += is_acknowledged;
    e->n_told += is_acknowledged && is_told;
}

/* True for a line that is part of the log. */
static bool take_line(char *line)
{
    char word[8] = "", id[HEX_SIZE] = "", rest[64] = "";
    if (sscanf(line, "%7s %32s %63[^\n]", word, id, rest) < 2) {
        return false;
    }
    if (strcmp(word, "unread") == 0) {
        n_unread++;
    } else if (strlen(id) == HEX_SIZE - 1 && strcmp(word, "sent") == 0) {
        take_sent(entry_of(id), rest);
    } else if (strlen(id) == HEX_SIZE - 1) {
        take_answer(entry_of(id), rest, strcmp(word, "told") == 0);
    }
    return true;
}

/* Lines after `n_trusted` show what was sent, but require nothing of the store. */
static void read_log(const char *path, unsigned long n_trusted)
{
    char line[256];
    FILE *file = fopen(path, "r");
    for (unsigned long n = 0; file && fgets(line, sizeof line, file); n++) {
        if ((n < n_trusted || strncmp(line, "sent", 4) == 0) && !take_line(line)) {
            fault(line, "no line of a log");
        }
    }
    if (!file || fclose(file) != 0) {
        fault(path, "the log cannot be read");
    }
}

/* ---- the store ---- */

static int take_pooled(void *ctx, uint32_t round, const struct dpot_report *report)
{
    char id[HEX_SIZE];
    (void)ctx;
    dpot_hex_encode(id, report->id, sizeof report->id);
    struct entry *e = entry_of(id);
    e->n_pooled++;
    if (e->n_sent > 0 && (e->round != round || e->index != report->index)) {
        fault(id, "is stored with another content than was sent");
    }
    return 0;
}

struct revisions {
    uint8_t hash[64][DPOT_HASH_LEN];
    size_t n;
};

static int take_revision(void *ctx, const struct revision_record *record)
{
    struct revisions *revisions = ctx;
    memcpy(revisions->hash[revisions->n++], record->hash, DPOT_HASH_LEN);
    return revisions->n == sizeof revisions->hash / sizeof revisions->hash[0];
}

static void read_pools(const char *path)
{
    struct revisions revisions = {.n = 0};
    struct dpot_error error = {{0}};
    struct store *store = NULL;
    char url[4096];
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    dpot_status status = store_open_existing(url, &store, &error);
    if (status == DPOT_OK) {
        status = store_list_revisions(store, take_revision, &revisions, &error);
    }
    for (size_t i = 0; i < revisions.n && status == DPOT_OK; i++) {
        status = store_read_pool(store, revisions.hash[i], take_pooled, NULL, &error);
    }
    if (status != DPOT_OK) {
        fault(path, error.text);
    }
    store_close(store);
}

/* ---- both ---- */

static void check_entry(const struct entry *e)
{
    if (e->n_pooled > 1) {
        fault(e->id, "is counted more than once");
    }
    if (e->n_pooled > 0 && e->n_sent == 0) {
        fault(e->id, "is counted and was never sent");
    }
    if (e->n_acknowledged > 0 && e->n_pooled == 0) {
        fault(e->id, "was acknowledged and is not there");
    }
    if (e->n_accepted > 1) {
        fault(e->id, "was accepted more than once");
    }
}

int main(int argc, char **argv)
{
    unsigned long n_pooled = 0, n_told = 0, n_acknowledged = 0, n_sent = 0, n_silent = 0;
    if (argc < 3 || dpot_init() != DPOT_OK) {
        (void)fprintf(stderr, "usage: chaos_verify STORE LOG [LINES]\n");
        return 2;
    }
    grow();
    read_log(argv[2], argc > 3 ? strtoul(argv[3], NULL, 10) : ~0ul);
    read_pools(argv[1]);
    for (size_t i = 0; i < cap; i++) {
        const struct entry *e = &entries[i];
        if (e->id[0]) {
            check_entry(e);
            n_sent += e->n_sent > 0;
            n_acknowledged += e->n_acknowledged > 0;
            n_told += e->n_told > 0;
            n_pooled += e->n_pooled;
            n_silent += e->n_pooled > 0 && e->n_told == 0;
        }
    }
    (void)printf("ids_sent %lu\nids_acknowledged %lu\nids_told %lu\nids_pooled %lu\n"
                 "ids_pooled_untold %lu\nbodies_unread %lu\nfaults %lu\n",
                 n_sent, n_acknowledged, n_told, n_pooled, n_silent, n_unread, n_faults);
    free(entries);
    return n_faults == 0 && n_unread == 0 ? 0 : 1;
}
