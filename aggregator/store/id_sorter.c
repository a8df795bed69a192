#include "store/id_sorter.h"

#include <string.h>
#include <sys/mman.h>

#define RUNS_FIRST 16
#define PLACES_FIRST 1024

void id_sorter_init(struct id_sorter *sorter, size_t memory_max)
{
    *sorter = (struct id_sorter){.memory_max = memory_max};
    dpot_buf_init(&sorter->rows, SIZE_MAX, NULL);
}

void id_sorter_release(struct id_sorter *sorter)
{
    if (sorter->mapped) {
        (void)munmap((void *)sorter->mapped, sorter->file_len);
    }
    if (sorter->file) {
        (void)fclose(sorter->file);
    }
    dpot_buf_release(&sorter->rows);
    dpot_free_array(NULL, sorter->places, sorter->n_places_max, sizeof *sorter->places);
    dpot_free_array(NULL, sorter->runs, sorter->n_runs_max, sizeof *sorter->runs);
    *sorter = (struct id_sorter){.memory_max = sorter->memory_max};
}

static dpot_status fail_memory(struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the order of reports");
}

static dpot_status fail_file(struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_IO,
                          "a round of this size is put in order in a temporary file: free space "
                          "in /tmp");
}

/* ---- runs ---- */

/* An entry is dim and width (u32 each, zeros for an index) and then the row. */
#define HEAD_LEN 8u

static struct packed_layout layout_at(const uint8_t *entry)
{
    return packed_lay_out(dpot_load_u32(entry), dpot_load_u32(entry + 4));
}

static void read_entry(const uint8_t *entry, struct packed_block *row)
{
    row->n_reports = 1;
    row->layout = layout_at(entry);
    row->data = entry + HEAD_LEN - row->layout.header_len;
}

static size_t entry_len_at(const uint8_t *entry)
{
    return HEAD_LEN + layout_at(entry).row_len;
}

static dpot_status note_run(struct id_sorter *sorter, size_t begin, size_t end)
{
    if (sorter->n_runs == sorter->n_runs_max) {
        const size_t n = sorter->n_runs_max > 0 ? 2 * sorter->n_runs_max : RUNS_FIRST;
        struct id_run *runs =
            dpot_resize_array(NULL, sorter->runs, sorter->n_runs_max, n, sizeof *runs);
        if (!runs) {
            return DPOT_ERR_MEMORY;
        }
        sorter->runs = runs;
        sorter->n_runs_max = n;
    }
    sorter->runs[sorter->n_runs++] = (struct id_run){.head = {.at = begin}, .end = end};
    return DPOT_OK;
}

/* Writes the rows in memory as one run. */
static dpot_status write_run(struct id_sorter *sorter, struct dpot_error *error)
{
    const size_t begin = sorter->file_len;
    id_order_sort(sorter->places, sorter->n_places);
    if (!sorter->file) {
        sorter->file = tmpfile();
    }
    for (size_t i = 0; sorter->file && i < sorter->n_places; i++) {
        const uint8_t *entry = sorter->rows.data + sorter->places[i].at;
        const size_t len = entry_len_at(entry);
        if (fwrite(entry, 1, len, sorter->file) != len) {
            return fail_file(error);
        }
        sorter->file_len += len;
    }
    if (!sorter->file) {
        return fail_file(error);
    }
    sorter->n_places = 0;
    dpot_buf_reset(&sorter->rows);
    return note_run(sorter, begin, sorter->file_len) == DPOT_OK ? DPOT_OK : fail_memory(error);
}

/* ---- adding ---- */

static dpot_status reserve_place(struct id_sorter *sorter)
{
    if (sorter->n_places < sorter->n_places_max) {
        return DPOT_OK;
    }
    const size_t n = sorter->n_places_max > 0 ? 2 * sorter->n_places_max : PLACES_FIRST;
    struct id_place *places =
        dpot_resize_array(NULL, sorter->places, sorter->n_places_max, n, sizeof *places);
    if (!places) {
        return DPOT_ERR_MEMORY;
    }
    sorter->places = places;
    sorter->n_places_max = n;
    return DPOT_OK;
}

static dpot_status add_row(struct id_sorter *sorter, const struct packed_layout *layout,
                           const uint8_t *row)
{
    dpot_status status = reserve_place(sorter);
    const size_t at = sorter->rows.len;
    if (status == DPOT_OK) {
        status = dpot_buf_append_u32(&sorter->rows, layout->dim);
    }
    if (status == DPOT_OK) {
        status = dpot_buf_append_u32(&sorter->rows, layout->width);
    }
    if (status == DPOT_OK) {
        status = dpot_buf_append(&sorter->rows, row, layout->row_len);
    }
    if (status == DPOT_OK) {
        sorter->places[sorter->n_places++] = id_place_make(row, at);
        sorter->n_rows++;
    }
    return status;
}

dpot_status id_sorter_add(struct id_sorter *sorter, const struct packed_block *block,
                          struct dpot_error *error)
{
    const size_t row_len = sizeof *sorter->places + HEAD_LEN + block->layout.row_len;
    dpot_status status = DPOT_OK;
    sorter->dim = block->layout.dim;
    sorter->width = block->layout.width > sorter->width ? block->layout.width : sorter->width;
    for (size_t i = 0; status == DPOT_OK && i < block->n_reports; i++) {
        const size_t used = sorter->rows.len + sorter->n_places * sizeof *sorter->places;
        if (sorter->n_places > 0 && used + row_len > sorter->memory_max) {
            status = write_run(sorter, error);
        }
        if (status == DPOT_OK && add_row(sorter, &block->layout, packed_id(block, i)) != DPOT_OK) {
            status = fail_memory(error);
        }
    }
    return status;
}

/* ---- reading ---- */

/* Restores the heap below `i`. */
static void sink(struct id_sorter *sorter, size_t i)
{
    struct id_run *runs = sorter->runs;
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child < 2 * i + 3 && child < sorter->n_runs; child++) {
            if (id_place_compare(&runs[child].head, &runs[least].head) < 0) {
                least = child;
            }
        }
        if (least == i) {
            return;
        }
        const struct id_run run = runs[i];
        runs[i] = runs[least];
        runs[least] = run;
        i = least;
    }
}

static void load_head(const struct id_sorter *sorter, struct id_run *run)
{
    run->head = id_place_make(sorter->mapped + run->head.at + HEAD_LEN, run->head.at);
}

static dpot_status map_runs(struct id_sorter *sorter, struct dpot_error *error)
{
    if (fflush(sorter->file) != 0) {
        return fail_file(error);
    }
    void *mapped = mmap(NULL, sorter->file_len, PROT_READ, MAP_PRIVATE, fileno(sorter->file), 0);
    if (mapped == MAP_FAILED) {
        return fail_memory(error);
    }
    sorter->mapped = mapped;
    for (size_t i = 0; i < sorter->n_runs; i++) {
        load_head(sorter, &sorter->runs[i]);
    }
    for (size_t i = sorter->n_runs; i-- > 0;) {
        sink(sorter, i);
    }
    return DPOT_OK;
}

dpot_status id_sorter_end(struct id_sorter *sorter, struct dpot_error *error)
{
    if (!sorter->file) {
        id_order_sort(sorter->places, sorter->n_places);
        return DPOT_OK;
    }
    const dpot_status status = sorter->n_places > 0 ? write_run(sorter, error) : DPOT_OK;
    return status == DPOT_OK ? map_runs(sorter, error) : status;
}

/* Releases the pages read so far, so that they do not count as memory of this process. */
static void release_pages(struct id_sorter *sorter, size_t n_more)
{
    sorter->n_touched += n_more;
    if (sorter->n_touched > sorter->memory_max) {
        sorter->n_touched = 0;
        (void)madvise((void *)sorter->mapped, sorter->file_len, MADV_DONTNEED);
    }
}

static void advance(struct id_sorter *sorter)
{
    struct id_run *run = &sorter->runs[0];
    release_pages(sorter, entry_len_at(sorter->mapped + run->head.at));
    run->head.at += entry_len_at(sorter->mapped + run->head.at);
    if (run->head.at < run->end) {
        load_head(sorter, run);
    } else {
        *run = sorter->runs[--sorter->n_runs];
    }
    sink(sorter, 0);
}

struct packed_layout id_sorter_layout(const struct id_sorter *sorter)
{
    return packed_lay_out(sorter->dim, sorter->width);
}

bool id_sorter_next(struct id_sorter *sorter, struct packed_block *row)
{
    if (sorter->n_read == sorter->n_rows) {
        return false;
    }
    if (sorter->file) {
        read_entry(sorter->mapped + sorter->runs[0].head.at, row);
        advance(sorter);
    } else {
        read_entry(sorter->rows.data + sorter->places[sorter->n_read].at, row);
    }
    sorter->n_read++;
    return true;
}
