#include "unit/aggregator/store/store_file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct store_file store_file;

void store_file_set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(store_file.folder);
    fixture_path(store_file.path, store_file.folder, "dpot.db");
    (void)snprintf(store_file.url, sizeof store_file.url, "sqlite:%s", store_file.path);
}

void store_file_tear_down(void)
{
    fixture_remove(store_file.folder);
}

void store_file_make(void)
{
    struct store *store = NULL;
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    store_close(store);
}

void store_file_tamper(const char *sql)
{
    struct database *database = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(database_open(store_file.path, &database, &error), DPOT_OK, "%s", error.text);
    struct query q = query_start(database, STATEMENT_PROBE, sql);
    cr_assert_neq(query_step(q), QUERY_FAILED);
    query_finish(q);
    database_close(database);
}

void store_file_age(int version)
{
    static const char *const steps[] = {NULL, "DROP TABLE job", "DROP TABLE drop_count",
                                        "DROP TABLE commit_sum"};
    char head[64];
    for (size_t i = 0; i < FIXTURE_N_TO_VERSION_4; i++) {
        store_file_tamper(fixture_to_version_4[i]);
    }
    for (int i = 3; i >= version; i--) {
        store_file_tamper(steps[i]);
    }
    if (version < 2) {
        store_file_tamper("DROP TABLE artifact");
    }
    (void)snprintf(head, sizeof head, "DELETE FROM schema_version WHERE version > %d", version);
    store_file_tamper(head);
}

void store_file_flip(const char *path, off_t at)
{
    uint8_t byte = 0;
    const int fd = open(path, O_RDWR);
    cr_assert_geq(fd, 0);
    cr_assert_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

void store_file_finish_job(struct store *store, const char *bytes)
{
    struct job_record record = {.kind = "any", .parameters = "{}", .created_ms = 1};
    struct dpot_error error = {{0}};
    dpot_random_bytes(record.id, sizeof record.id);
    cr_assert_eq(store_add_job(store, &record, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(store_finish_job(store, &record, bytes, strlen(bytes), &error), DPOT_OK, "%s",
                 error.text);
}
