/* Neither the store's file nor a copy nor a pool shows the order in which reports arrived (T7). */
#include "store/id_sorter.h"
#include "unit/aggregator/store/store_file.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(order, .init = store_file_set_up, .fini = store_file_tear_down);

#define N_DEVICES 60
#define N_CAMPAIGNS 2

static struct store *store;
static struct revision_record records[N_CAMPAIGNS];
static char copy[FIXTURE_PATH_SIZE];

static void open_campaigns(void)
{
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    for (size_t c = 0; c < N_CAMPAIGNS; c++) {
        records[c] = (struct revision_record){.revision = 1, .name = "any"};
        records[c].campaign_id[0] = records[c].hash[0] = (uint8_t)(c + 1);
        cr_assert_eq(store_add_revision(store, &records[c], "x", 1, NULL), DPOT_OK);
        cr_assert_eq(store_set_state(store, records[c].hash, REVISION_OPEN, NULL), DPOT_OK);
    }
    fixture_path(copy, store_file.folder, "copy.db");
}

/* Devices first, ... report to each campaign, in one commit each, with different ids. */
static void report_all(size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++) {
        for (size_t c = 0; c < N_CAMPAIGNS; c++) {
            const struct dpot_report report = fixture_report((uint32_t)(N_CAMPAIGNS * i + c));
            vectors_append(store, records[c].hash, 0, &report, 1);
        }
    }
}

struct seen {
    uint8_t ids[N_CAMPAIGNS * N_DEVICES][DPOT_REPORT_ID_LEN];
    size_t n;
};

static int note_id(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct seen *seen = ctx;
    (void)round;
    memcpy(seen->ids[seen->n++], report->id, DPOT_REPORT_ID_LEN);
    return 0;
}

static void expect_id_order(const struct seen *seen, size_t n)
{
    cr_assert_eq(seen->n, n);
    for (size_t i = 1; i < n; i++) {
        cr_assert_lt(memcmp(seen->ids[i - 1], seen->ids[i], DPOT_REPORT_ID_LEN), 0);
    }
}

static void read_file(const char *path, struct dpot_buf *out)
{
    uint8_t bytes[4096];
    FILE *stream = fopen(path, "rb");
    cr_assert_not_null(stream);
    dpot_buf_init(out, SIZE_MAX, NULL);
    for (size_t n = 1; n > 0;) {
        n = fread(bytes, 1, sizeof bytes, stream);
        cr_assert_eq(dpot_buf_append(out, bytes, n), DPOT_OK);
    }
    (void)fclose(stream);
}

/* The offset of a report in the file, where it must occur once. */
static size_t find_once(const struct dpot_buf *file, uint32_t number)
{
    const struct dpot_report report = fixture_report(number);
    size_t at = 0, n = 0;
    for (size_t i = 0; i + DPOT_REPORT_ID_LEN + 4 <= file->len; i++) {
        uint8_t row[DPOT_REPORT_ID_LEN + 4];
        memcpy(row, report.id, DPOT_REPORT_ID_LEN);
        dpot_store_u32(row + DPOT_REPORT_ID_LEN, report.index);
        if (memcmp(file->data + i, row, sizeof row) == 0) {
            at = i;
            n++;
        }
    }
    cr_assert_eq(n, 1, "report %u occurs %zu times", number, n);
    return at;
}

/* Number of devices whose reports to both campaigns have nearly the same rank in their campaign:
 * almost all devices if the order is kept, about five by chance. */
#define RANKS_NEAR 2
#define LINKED_BY_CHANCE 20
typedef int64_t places_of[N_CAMPAIGNS][N_DEVICES];

static size_t count_near(const places_of places)
{
    size_t n_near = 0;
    for (size_t i = 0; i < N_DEVICES; i++) {
        size_t rank[N_CAMPAIGNS] = {0};
        for (size_t c = 0; c < N_CAMPAIGNS; c++) {
            for (size_t j = 0; j < N_DEVICES; j++) {
                rank[c] += places[c][j] < places[c][i];
            }
        }
        n_near += rank[0] <= rank[1] + RANKS_NEAR && rank[1] <= rank[0] + RANKS_NEAR;
    }
    return n_near;
}

/* By offsets in the file. */
static size_t count_linked(const char *path)
{
    places_of places;
    struct dpot_buf file;
    read_file(path, &file);
    for (size_t c = 0; c < N_CAMPAIGNS; c++) {
        for (size_t i = 0; i < N_DEVICES; i++) {
            places[c][i] = (int64_t)find_once(&file, (uint32_t)(N_CAMPAIGNS * i + c));
        }
    }
    dpot_buf_release(&file);
    return count_near(places);
}

/* By the row numbers of blocks, in a store with one report a block. */
static size_t count_numbered(void)
{
    places_of places;
    for (size_t c = 0; c < N_CAMPAIGNS; c++) {
        for (size_t i = 0; i < N_DEVICES; i++) {
            char sql[96], hex[2 * DPOT_REPORT_ID_LEN + 1];
            const struct dpot_report report = fixture_report((uint32_t)(N_CAMPAIGNS * i + c));
            dpot_hex_encode(hex, report.id, sizeof report.id);
            (void)snprintf(sql, sizeof sql, "SELECT number FROM block WHERE first = x'%s'", hex);
            places[c][i] = fixture_ask(store_file.path, sql);
        }
    }
    return count_near(places);
}

/* Earlier versions stored them side by side in every table, and at one place of every pool. */
Test(order, neither_pools_nor_copies_link_what_one_device_sent_to_two_campaigns)
{
    open_campaigns();
    report_all(0, N_DEVICES);
    for (size_t c = 0; c < N_CAMPAIGNS; c++) {
        struct seen seen = {.n = 0};
        cr_assert_eq(store_read_pool(store, records[c].hash, note_id, &seen, NULL), DPOT_OK);
        expect_id_order(&seen, N_DEVICES);
    }
    cr_assert_eq(store_backup(store, copy, NULL, NULL), DPOT_OK);
    store_close(store);
    cr_assert_lt(count_linked(copy), LINKED_BY_CHANCE);
    cr_assert_eq(fixture_ask(copy, "SELECT count(*) FROM block WHERE is_merged = 0"), 0);
    cr_assert_eq(fixture_ask(copy, "SELECT count(*) FROM block"), N_CAMPAIGNS, "one a round");
    cr_assert_lt(count_numbered(), LINKED_BY_CHANCE, "also while the round is open");
    cr_assert_eq(
        fixture_ask(copy, "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'"), 0);
}

static void merge_all(uint32_t n_rounds)
{
    struct dpot_error error = {{0}};
    for (size_t c = 0; c < N_CAMPAIGNS; c++) {
        bool has_merged = true;
        while (has_merged) {
            cr_assert_eq(store_merge(store, records[c].hash, n_rounds, &has_merged, &error),
                         DPOT_OK, "%s", error.text);
        }
    }
}

/* In the file itself, including freed pages, not in a copy. */
Test(order, a_closed_round_keeps_no_order_in_the_file)
{
    open_campaigns();
    report_all(0, N_DEVICES);
    merge_all(1);
    store_close(store);
    cr_assert_lt(count_linked(store_file.path), LINKED_BY_CHANCE);
    cr_assert_eq(fixture_ask(store_file.path, "SELECT count(*) FROM block"), N_CAMPAIGNS);
}

/* Two servers receive the same reports in another order and in other commits. */
Test(order, a_copy_of_a_store_does_not_depend_on_the_order_in_which_reports_came)
{
    struct dpot_buf first, second;
    for (int turn = 0; turn < 2; turn++) {
        open_campaigns();
        report_all(turn ? N_DEVICES / 2 : 0, N_DEVICES / 2);
        report_all(turn ? 0 : N_DEVICES / 2, N_DEVICES / 2);
        cr_assert_eq(store_backup(store, copy, NULL, NULL), DPOT_OK);
        store_close(store);
        store_file_tamper("UPDATE schema_version SET applied = ''"); /* of the file, not the copy */
        read_file(copy, turn ? &second : &first);
        cr_assert_eq(remove(copy), 0);
        cr_assert_eq(remove(store_file.path), 0);
    }
    cr_assert_eq(first.len, second.len);
    size_t n_other = 0;
    for (size_t i = 0; i < first.len; i++) {
        n_other += first.data[i] != second.data[i];
    }
    cr_assert_lt(n_other, 200, "%zu bytes: but for the time of making and SQLite's change counters",
                 n_other);
    dpot_buf_release(&first);
    dpot_buf_release(&second);
}

Test(order, a_round_merged_while_open_still_detects_duplicates)
{
    open_campaigns();
    report_all(0, 20);
    merge_all(1);
    report_all(20, 20);
    merge_all(1);
    for (uint32_t i = 0; i < 40; i++) {
        const struct dpot_report report = fixture_report(N_CAMPAIGNS * i);
        enum dpot_report_status status = DPOT_REPORT_STATUS_END;
        struct store_append append = {.n_reports = 1,
                                      .reports = &report,
                                      .is_refused = (const uint8_t[]){0},
                                      .statuses = &status};
        memcpy(append.hash, records[0].hash, sizeof append.hash);
        cr_assert_eq(store_append_reports(store, &append, NULL), DPOT_OK);
        cr_assert_eq(status, DPOT_REPORT_DUPLICATE);
        if (i == 20) { /* like a restart */
            store_close(store);
            cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
        }
    }
    store_close(store);
}

Test(order, only_closed_rounds_are_merged)
{
    bool has_merged = true;
    open_campaigns();
    report_all(0, 3);
    cr_assert_eq(store_merge(store, records[0].hash, 0, &has_merged, NULL), DPOT_OK);
    cr_assert_not(has_merged);
    store_close(store);
    cr_assert_eq(fixture_ask(store_file.path, "SELECT sum(n_arrived) FROM round"), 3 * N_CAMPAIGNS);
}

static int merge_while_reading(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct seen *seen = ctx;
    if (seen->n == 1) {
        merge_all(2);
    }
    return note_id(seen, round, report);
}

Test(order, a_pool_merged_during_a_read_is_read_completely)
{
    struct seen seen = {.n = 0};
    open_campaigns();
    report_all(0, 50);
    for (uint32_t i = 1000; i < 1010; i++) {
        const struct dpot_report report = fixture_report(i);
        vectors_append(store, records[0].hash, 1, &report, 1);
    }
    cr_assert_eq(store_read_pool(store, records[0].hash, merge_while_reading, &seen, NULL),
                 DPOT_OK);
    cr_assert_eq(seen.n, 60);
    store_close(store);
}

/* Random ids, ids with a common prefix, and equal ids. */
Test(order, ids_are_sorted_as_bytes)
{
    enum { N = 2000 };
    static uint8_t ids[N][DPOT_REPORT_ID_LEN];
    static struct id_place places[N];
    for (size_t shared = 0; shared <= DPOT_REPORT_ID_LEN; shared += 5) {
        dpot_random_bytes(ids, sizeof ids);
        for (size_t i = 0; i < N; i++) {
            memset(ids[i], 0xA5, shared);
            places[i] = id_place_make(ids[i], i);
        }
        memcpy(ids[N - 1], ids[0], sizeof ids[0]);
        places[N - 1] = id_place_make(ids[N - 1], N - 1);
        id_order_sort(places, N);
        for (size_t i = 1; i < N; i++) {
            cr_assert_leq(memcmp(ids[places[i - 1].at], ids[places[i].at], sizeof ids[0]), 0);
        }
    }
}

/* Unsorted blocks, and a sorter with memory for few reports. */
Test(order, a_round_that_does_not_fit_into_memory_is_read_in_the_same_order)
{
    enum { N = 3000, BLOCK = 7 };
    struct id_sorter sorter;
    struct packed_block block, row;
    struct dpot_buf bytes;
    uint8_t last[DPOT_REPORT_ID_LEN] = {0};
    size_t n = 0;
    const struct packed_layout layout = packed_lay_out(0, 0);
    id_sorter_init(&sorter, 4096);
    dpot_buf_init(&bytes, SIZE_MAX, NULL);
    for (uint32_t i = 0; i < N; i += BLOCK) {
        const uint32_t n_rows = N - i < BLOCK ? N - i : BLOCK;
        dpot_buf_reset(&bytes);
        cr_assert_eq(packed_begin(&layout, n_rows, &bytes), DPOT_OK);
        for (uint32_t j = 0; j < n_rows; j++) {
            const struct dpot_report report = fixture_report(i + j);
            packed_append(&layout, &report, &bytes);
        }
        cr_assert_eq(packed_open(PACKED_FORMAT_INDEX, n_rows, bytes.data, bytes.len, &block),
                     DPOT_OK);
        cr_assert_eq(id_sorter_add(&sorter, &block, NULL), DPOT_OK);
    }
    cr_assert_not_null(sorter.file, "some of it was written");
    cr_assert_eq(id_sorter_end(&sorter, NULL), DPOT_OK);
    while (id_sorter_next(&sorter, &row)) {
        struct dpot_report report;
        packed_read(&row, 0, NULL, &report);
        cr_assert_geq(memcmp(report.id, last, sizeof last), 0);
        memcpy(last, report.id, sizeof last);
        n++;
    }
    cr_assert_eq(n, N);
    id_sorter_release(&sorter);
    dpot_buf_release(&bytes);
}

/* Numbers the commits of version 4 in the order in which the devices reported. */
static void renumber_commits(void)
{
    struct database *database = NULL;
    cr_assert_eq(database_open_old(store_file.path, &database, NULL), DPOT_OK);
    for (uint32_t i = 0; i < N_CAMPAIGNS * N_DEVICES; i++) {
        const struct dpot_report report = fixture_report(i);
        struct query q =
            query_start(database, STATEMENT_PROBE,
                        "UPDATE commits SET seq = ?1 WHERE substr(reports, 1, 16) = ?2");
        query_bind_integer(q, 1, 100000 + i);
        query_bind_bytes(q, 2, report.id, sizeof report.id);
        cr_assert(query_run(q));
    }
    cr_assert_eq(database_execute(database, "numbering",
                                  "DELETE FROM commit_sum;"
                                  "INSERT INTO commit_sum SELECT seq, dpot_commit_sum(hash, round,"
                                  " seq, format, n_reports, reports) FROM commits;",
                                  NULL),
                 DPOT_OK);
    database_close(database);
}

/* In a store of version 4 the commits are in the order of arrival. */
Test(order, migrating_a_store_removes_its_order)
{
    struct seen seen = {.n = 0};
    open_campaigns();
    report_all(0, N_DEVICES);
    store_close(store);
    store_file_age(4);
    renumber_commits();
    cr_assert_geq(count_linked(store_file.path), N_DEVICES * 9 / 10, "the attack finds the order");
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_read_pool(store, records[0].hash, note_id, &seen, NULL), DPOT_OK);
    expect_id_order(&seen, N_DEVICES);
    merge_all(1);
    store_close(store);
    cr_assert_lt(count_linked(store_file.path), LINKED_BY_CHANCE);
    cr_assert_eq(fixture_ask(store_file.path,
                             "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'commit%'"),
                 0);
}
