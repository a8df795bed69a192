#include "conformance/bench.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct backend_row {
    const char *scheme;
    const char *file; /* in a new folder; NULL: the URL is the scheme alone */
    bool is_durable;
};
static const struct backend_row backends[] = {
    {"sqlite::memory:", NULL, false},
    {"sqlite:", "dpot.db", true},
};

size_t bench_n_backends(void)
{
    return sizeof backends / sizeof backends[0];
}

static void open_store(struct bench *b)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(store_open(b->url, &b->store, &error), DPOT_OK, "%s", error.text);
}

void bench_init(struct bench *b, size_t row)
{
    char path[FIXTURE_PATH_SIZE] = "";
    cr_assert_eq(dpot_init(), DPOT_OK);
    b->row = row;
    fixture_folder(b->folder);
    if (backends[row].file) {
        fixture_path(path, b->folder, backends[row].file);
    }
    (void)snprintf(b->url, sizeof b->url, "%s%s", backends[row].scheme, path);
    open_store(b);
}

void bench_release(struct bench *b)
{
    store_close(b->store);
    fixture_remove(b->folder);
}

void bench_reopen(struct bench *b)
{
    if (backends[b->row].is_durable) {
        store_close(b->store);
        open_store(b);
    }
}
