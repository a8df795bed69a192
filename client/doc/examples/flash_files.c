#include "flash_files.h"

#include <string.h>

/* A page = header, payload:
 *   crc32 of the rest (4 bytes), number, number of the page programmed before, tail (4 each),
 *   kind (1), file (1), page of the file (2), size of the file (4)
 * in little-endian order. Page number n lies at n % FLASH_PAGES.
 *
 * (F1) A page takes effect whole (its checksum fits) or not at all.
 * (F2) Played from the tail to the head, the pages give the state. Only pages beyond the tail are
 *      dropped, and what is in use there was copied to the head before.
 * (F3) A block is erased only when the tail on the flash is beyond it: half-erased it is ignored.
 * (F4) What is in use fits into all but the spare blocks. So a change that needs no more room finds
 *      a page always: files grow, and are created, only below that limit. */
#define NUMBER_AT 4
#define PREVIOUS_AT 8
#define TAIL_AT 12
#define KIND_AT 16
#define FILE_AT 17
#define INDEX_AT 18
#define SIZE_AT 20
#define PAYLOAD_AT 24
#define PAYLOAD_BYTES (FLASH_PAGE_BYTES - PAYLOAD_AT)
#define INDEX_NAME 0xffff /* the page holds the name */
#define PAGES_MAX ((FLASH_BLOCKS - FLASH_SPARE_BLOCKS) * FLASH_BLOCK_PAGES)
#define RESERVE ((FLASH_SPARE_BLOCKS - 2) * FLASH_BLOCK_PAGES) /* pages free before a change */

_Static_assert(FLASH_SPARE_BLOCKS >= 4 && FLASH_BLOCKS > FLASH_SPARE_BLOCKS, "spare blocks");
_Static_assert(FLASH_FILES < 255 && FLASH_PAGES < INDEX_NAME, "tables");
_Static_assert(FLASH_BLOCK_BYTES % FLASH_PAGE_BYTES == 0 && PAYLOAD_BYTES >= FLASH_NAME_BYTES,
               "pages");

enum kind { KIND_NAME = 1, KIND_DATA, KIND_REMOVE };

static uint32_t get(const uint8_t *at, size_t n_bytes)
{
    uint32_t value = 0;
    for (size_t i = n_bytes; i > 0; i--) {
        value = value << 8 | at[i - 1];
    }
    return value;
}

static void put(uint8_t *at, uint32_t value, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

/* CRC-32 of Ethernet, four bits a step. */
static uint32_t checksum(const uint8_t *data, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < len; i++) {
        crc = table[(crc ^ data[i]) & 15] ^ crc >> 4;
        crc = table[(crc ^ data[i] >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}

static dpot_status fail(struct flash_files *fs, const char *why)
{
    fs->why = why;
    return DPOT_ERR_IO;
}

/* ---- pages ---- */

static uint32_t address_of(uint32_t number)
{
    return number % FLASH_PAGES * FLASH_PAGE_BYTES;
}

static dpot_status read_page(struct flash_files *fs, uint32_t number)
{
    if (fs->port->read(fs->port->ctx, address_of(number), fs->page, sizeof fs->page) != 0) {
        return fail(fs, "the flash cannot be read");
    }
    return DPOT_OK;
}

static bool is_whole(const uint8_t page[FLASH_PAGE_BYTES])
{
    return get(page, 4) == checksum(page + NUMBER_AT, FLASH_PAGE_BYTES - NUMBER_AT);
}

/* Forgets the pages `from` and later of a file, but for its name. */
static void forget_pages(struct flash_files *fs, size_t file, uint32_t from)
{
    for (size_t i = 0; i < FLASH_PAGES; i++) {
        if (fs->owner[i] == file && fs->index[i] >= from && fs->index[i] != INDEX_NAME) {
            fs->owner[i] = FLASH_FILES;
        }
    }
}

/* Where a page of a file is; FLASH_PAGES: nowhere. */
static uint32_t find_page(const struct flash_files *fs, size_t file, uint32_t index)
{
    uint32_t at = 0;
    while (at < FLASH_PAGES && (fs->owner[at] != file || fs->index[at] != index)) {
        at++;
    }
    return at;
}

static void own_page(struct flash_files *fs, uint32_t at, size_t file, uint32_t index)
{
    const uint32_t old = find_page(fs, file, index);
    if (old < FLASH_PAGES) {
        fs->owner[old] = FLASH_FILES;
    }
    fs->owner[at] = (uint8_t)file;
    fs->index[at] = (uint16_t)index;
}

/* ---- files ---- */

static uint32_t pages_of(uint64_t size)
{
    return (uint32_t)((size + PAYLOAD_BYTES - 1) / PAYLOAD_BYTES);
}

static bool is_free(const struct flash_file *file)
{
    return file->name[0] == '\0' && file->n_open == 0;
}

/* The file's number; FLASH_FILES: none. */
static size_t find_file(const struct flash_files *fs, const char *name)
{
    size_t file = 0;
    while (file < FLASH_FILES && strcmp(fs->files[file].name, name) != 0) {
        file++;
    }
    return file;
}

/* The file has no name any more. Its content stays while it is open. */
static void forget_name(struct flash_files *fs, size_t file)
{
    const uint32_t at = find_page(fs, file, INDEX_NAME);
    if (at < FLASH_PAGES) {
        fs->owner[at] = FLASH_FILES;
    }
    fs->files[file].name[0] = '\0';
    if (is_free(&fs->files[file])) {
        forget_pages(fs, file, 0);
    }
}

static void set_name(struct flash_files *fs, size_t file, const char *name)
{
    const size_t replaced = find_file(fs, name);
    if (replaced < FLASH_FILES && replaced != file) {
        forget_name(fs, replaced);
    }
    memcpy(fs->files[file].name, name, strlen(name) + 1);
}

/* Makes what the page in fs->page says the state: of one just programmed, and at opening. */
static dpot_status apply_page(struct flash_files *fs)
{
    const uint8_t *page = fs->page;
    const uint32_t number = get(page + NUMBER_AT, 4), index = get(page + INDEX_AT, 2);
    const size_t file = page[FILE_AT];
    const uint8_t kind = page[KIND_AT];
    const char *name = (const char *)page + PAYLOAD_AT;
    if (file >= FLASH_FILES || kind < KIND_NAME || kind > KIND_REMOVE ||
        (kind == KIND_NAME && (name[0] == '\0' || !memchr(name, 0, FLASH_NAME_BYTES)))) {
        return fail(fs, "the flash was written with other limits");
    }
    if (kind == KIND_REMOVE) {
        forget_name(fs, file);
        return DPOT_OK;
    }
    fs->files[file].size = get(page + SIZE_AT, 4);
    forget_pages(fs, file, pages_of(fs->files[file].size));
    if (kind == KIND_NAME) {
        set_name(fs, file, name);
    }
    own_page(fs, number % FLASH_PAGES, file, index);
    return DPOT_OK;
}

/* ---- the log ---- */

/* Erases the block at the head, if that is where the log is (F3). */
static dpot_status enter_block(struct flash_files *fs)
{
    if (fs->head % FLASH_BLOCK_PAGES != 0) {
        return DPOT_OK;
    }
    if (fs->head + FLASH_BLOCK_PAGES - fs->kept_tail > FLASH_PAGES) {
        return fail(fs, "too many interrupted writes: no block is free");
    }
    if (fs->port->erase(fs->port->ctx, address_of(fs->head)) != 0) {
        fs->is_failed = true;
        return fail(fs, "the flash cannot be erased");
    }
    return DPOT_OK;
}

/* Programs fs->page, whose payload is set, as the next page of the log, and makes it the state. */
static dpot_status append(struct flash_files *fs, enum kind kind, size_t file, uint32_t index,
                          uint64_t size)
{
    const dpot_status status = fs->is_failed ? DPOT_ERR_IO : enter_block(fs);
    if (status != DPOT_OK) {
        return status;
    }
    const uint32_t number = fs->head++;
    put(fs->page + NUMBER_AT, number, 4);
    put(fs->page + PREVIOUS_AT, fs->last, 4);
    put(fs->page + TAIL_AT, fs->tail, 4);
    fs->page[KIND_AT] = (uint8_t)kind;
    fs->page[FILE_AT] = (uint8_t)file;
    put(fs->page + INDEX_AT, index, 2);
    put(fs->page + SIZE_AT, (uint32_t)size, 4);
    put(fs->page, checksum(fs->page + NUMBER_AT, FLASH_PAGE_BYTES - NUMBER_AT), 4);
    if (fs->port->program(fs->port->ctx, address_of(number), fs->page) != 0 ||
        read_page(fs, number) != DPOT_OK || !is_whole(fs->page)) {
        fs->is_failed = true;
        return fail(fs, "the flash cannot be programmed");
    }
    fs->last = number;
    fs->kept_tail = fs->tail;
    return apply_page(fs);
}

/* Copies what is in use in the last block to the head, and drops the block (F2). */
static dpot_status drop_last_block(struct flash_files *fs)
{
    for (uint32_t i = 0; i < FLASH_BLOCK_PAGES; i++) {
        const uint32_t number = fs->tail + i, at = number % FLASH_PAGES;
        const size_t file = fs->owner[at];
        if (file == FLASH_FILES) {
            continue;
        }
        dpot_status status = read_page(fs, number);
        if (status == DPOT_OK && !is_whole(fs->page)) {
            status = fail(fs, "a page of the flash is damaged");
        }
        if (status == DPOT_OK) {
            const uint32_t index = fs->index[at];
            status = append(fs, index == INDEX_NAME ? KIND_NAME : KIND_DATA, file, index,
                            fs->files[file].size);
        }
        if (status != DPOT_OK) {
            return status;
        }
    }
    fs->tail += FLASH_BLOCK_PAGES;
    return DPOT_OK;
}

/* Frees pages for a change. Call it before setting fs->page. */
static dpot_status make_room(struct flash_files *fs)
{
    dpot_status status = fs->is_failed ? DPOT_ERR_IO : DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && fs->head - fs->tail > FLASH_PAGES - RESERVE; i++) {
        status = i < FLASH_BLOCKS ? drop_last_block(fs) : DPOT_ERR_NO_SPACE;
    }
    memset(fs->page, 0, sizeof fs->page);
    return status;
}

/* DPOT_ERR_NO_SPACE if `n_pages` more are above the limit (F4). */
static dpot_status claim(const struct flash_files *fs, uint64_t n_pages)
{
    uint64_t n = n_pages;
    for (size_t i = 0; i < FLASH_FILES; i++) {
        n += is_free(&fs->files[i]) ? 0 : 1 + pages_of(fs->files[i].size);
    }
    return n <= PAGES_MAX ? DPOT_OK : DPOT_ERR_NO_SPACE;
}

static dpot_status claim_growth(const struct flash_files *fs, const struct flash_file *file,
                                uint64_t size)
{
    if (size <= file->size) {
        return DPOT_OK;
    }
    return size / FLASH_BLOCK_BYTES > FLASH_BLOCKS
               ? DPOT_ERR_NO_SPACE
               : claim(fs, pages_of(size) - pages_of(file->size));
}

static dpot_status append_name(struct flash_files *fs, enum kind kind, size_t file,
                               const char *name, uint64_t size)
{
    const dpot_status status = make_room(fs);
    if (status != DPOT_OK) {
        return status;
    }
    memcpy(fs->page + PAYLOAD_AT, name, strlen(name) + 1);
    return append(fs, kind, file, INDEX_NAME, size);
}

/* Sets fs->page to a page of the file; zeros where none was written. */
static dpot_status load(struct flash_files *fs, size_t file, uint32_t index)
{
    const uint32_t at = find_page(fs, file, index);
    if (at == FLASH_PAGES) {
        memset(fs->page, 0, sizeof fs->page);
        return DPOT_OK;
    }
    const dpot_status status = read_page(fs, at);
    return status != DPOT_OK || is_whole(fs->page) ? status
                                                   : fail(fs, "a page of the flash is damaged");
}

/* ---- the hook ---- */

static size_t number_of(const struct flash_files *fs, const void *file)
{
    return (size_t)((const struct flash_file *)file - fs->files);
}

static bool is_name(const char *name)
{
    return name[0] != '\0' && strlen(name) < FLASH_NAME_BYTES;
}

static dpot_status create_file(struct flash_files *fs, const char *name, size_t *file)
{
    *file = 0;
    while (*file < FLASH_FILES && !is_free(&fs->files[*file])) {
        ++*file;
    }
    const dpot_status status = *file == FLASH_FILES ? DPOT_ERR_NO_SPACE : claim(fs, 1);
    return status == DPOT_OK ? append_name(fs, KIND_NAME, *file, name, 0) : status;
}

static dpot_status open_file(void *ctx, const char *name, int create, void **file)
{
    struct flash_files *fs = ctx;
    if (!is_name(name)) {
        return DPOT_ERR_ARGUMENT;
    }
    size_t found = find_file(fs, name);
    dpot_status status = found < FLASH_FILES ? DPOT_OK : DPOT_ERR_NOT_FOUND;
    if (status != DPOT_OK && create) {
        status = create_file(fs, name, &found);
    }
    if (status == DPOT_OK) {
        fs->files[found].n_open++;
        *file = &fs->files[found];
    }
    return status;
}

static void close_file(void *ctx, void *file)
{
    struct flash_files *fs = ctx;
    struct flash_file *f = file;
    f->n_open--;
    if (is_free(f)) {
        forget_pages(fs, number_of(fs, f), 0);
    }
}

static dpot_status size_file(void *ctx, void *file, uint64_t *size)
{
    (void)ctx;
    const struct flash_file *f = file;
    *size = f->size;
    return DPOT_OK;
}

/* The bytes of the page of `offset` from there on, at most len. */
static size_t piece_of(uint64_t offset, size_t len)
{
    const size_t rest = PAYLOAD_BYTES - (size_t)(offset % PAYLOAD_BYTES);
    return len < rest ? len : rest;
}

static dpot_status read_at(void *ctx, void *file, uint64_t offset, void *data, size_t len)
{
    struct flash_files *fs = ctx;
    const struct flash_file *f = file;
    uint8_t *to = data;
    dpot_status status = DPOT_OK;
    if (offset > f->size || len > f->size - offset) {
        return fail(fs, "the file ends before");
    }
    while (status == DPOT_OK && len > 0) {
        const size_t n = piece_of(offset, len);
        status = load(fs, number_of(fs, f), (uint32_t)(offset / PAYLOAD_BYTES));
        memcpy(to, fs->page + PAYLOAD_AT + offset % PAYLOAD_BYTES, n);
        to += n;
        offset += n;
        len -= n;
    }
    return status;
}

static dpot_status write_piece(struct flash_files *fs, struct flash_file *f, uint64_t offset,
                               const void *data, size_t len)
{
    const uint32_t index = (uint32_t)(offset / PAYLOAD_BYTES);
    const uint64_t size = offset + len > f->size ? offset + len : f->size;
    dpot_status status = make_room(fs);
    status = status == DPOT_OK ? load(fs, number_of(fs, f), index) : status;
    if (status == DPOT_OK) {
        memcpy(fs->page + PAYLOAD_AT + offset % PAYLOAD_BYTES, data, len);
        status = append(fs, KIND_DATA, number_of(fs, f), index, size);
    }
    return status;
}

static dpot_status write_at(void *ctx, void *file, uint64_t offset, const void *data, size_t len)
{
    struct flash_files *fs = ctx;
    struct flash_file *f = file;
    const uint8_t *from = data;
    dpot_status status =
        offset > UINT32_MAX ? DPOT_ERR_NO_SPACE : claim_growth(fs, f, len > 0 ? offset + len : 0);
    while (status == DPOT_OK && len > 0) {
        const size_t n = piece_of(offset, len);
        status = write_piece(fs, f, offset, from, n);
        from += n;
        offset += n;
        len -= n;
    }
    return status;
}

/* A page that is cut within is programmed again with zeros there: a file that grows has zeros. */
static dpot_status truncate_file(void *ctx, void *file, uint64_t size)
{
    struct flash_files *fs = ctx;
    struct flash_file *f = file;
    const size_t number = number_of(fs, f), rest = (size_t)(size % PAYLOAD_BYTES);
    dpot_status status = size > UINT32_MAX ? DPOT_ERR_NO_SPACE : claim_growth(fs, f, size);
    if (status == DPOT_OK && ((size < f->size && rest > 0) || f->name[0] == '\0')) {
        const uint32_t index = (uint32_t)(size / PAYLOAD_BYTES);
        status = make_room(fs);
        status = status == DPOT_OK ? load(fs, number, index) : status;
        if (status == DPOT_OK) {
            memset(fs->page + PAYLOAD_AT + rest, 0, PAYLOAD_BYTES - rest);
            status = append(fs, KIND_DATA, number, index, size);
        }
    } else if (status == DPOT_OK) {
        status = append_name(fs, KIND_NAME, number, f->name, size);
    }
    return status;
}

static dpot_status sync_file(void *ctx, void *file)
{
    const struct flash_files *fs = ctx;
    (void)file;
    return fs->is_failed ? DPOT_ERR_IO : DPOT_OK;
}

static dpot_status sync_directory(void *ctx)
{
    return sync_file(ctx, NULL);
}

static dpot_status rename_file(void *ctx, const char *from, const char *to)
{
    struct flash_files *fs = ctx;
    const size_t file = find_file(fs, from);
    if (!is_name(from) || !is_name(to)) {
        return DPOT_ERR_ARGUMENT;
    }
    return file < FLASH_FILES ? append_name(fs, KIND_NAME, file, to, fs->files[file].size)
                              : DPOT_ERR_NOT_FOUND;
}

static dpot_status remove_file(void *ctx, const char *name)
{
    struct flash_files *fs = ctx;
    const size_t file = find_file(fs, name);
    if (!is_name(name) || file == FLASH_FILES) {
        return DPOT_ERR_NOT_FOUND;
    }
    return append_name(fs, KIND_REMOVE, file, "", 0);
}

static dpot_status lock_files(void *ctx)
{
    struct flash_files *fs = ctx;
    if (fs->is_locked) {
        return DPOT_ERR_BUSY;
    }
    fs->is_locked = true;
    return DPOT_OK;
}

static void unlock_files(void *ctx)
{
    struct flash_files *fs = ctx;
    fs->is_locked = false;
}

static const char *explain(void *ctx)
{
    const struct flash_files *fs = ctx;
    return fs->why;
}

/* ---- opening ---- */

/* Finds the last page that was programmed whole, and its tail. False: there is none. */
static dpot_status find_log(struct flash_files *fs, bool *is_found)
{
    dpot_status status = DPOT_OK;
    *is_found = false;
    for (uint32_t at = 0; status == DPOT_OK && at < FLASH_PAGES; at++) {
        status = read_page(fs, at);
        const uint32_t number = get(fs->page + NUMBER_AT, 4);
        if (status == DPOT_OK && number % FLASH_PAGES == at && (!*is_found || number > fs->last) &&
            is_whole(fs->page)) {
            *is_found = true;
            fs->last = number;
            fs->tail = get(fs->page + TAIL_AT, 4);
        }
    }
    fs->kept_tail = fs->tail;
    return status;
}

/* The head: behind the last page, and behind those of its block that were begun after it. */
static dpot_status find_head(struct flash_files *fs)
{
    dpot_status status = DPOT_OK;
    fs->head = fs->last + 1;
    for (uint32_t number = fs->head; status == DPOT_OK && number % FLASH_BLOCK_PAGES != 0;
         number++) {
        size_t n_blank = 0;
        status = read_page(fs, number);
        while (n_blank < FLASH_PAGE_BYTES && fs->page[n_blank] == 0xff) {
            n_blank++;
        }
        fs->head = n_blank < FLASH_PAGE_BYTES ? number + 1 : fs->head;
    }
    return status;
}

/* Plays the log. Each page names the one before, so that a damaged page is found. */
static dpot_status play_log(struct flash_files *fs)
{
    dpot_status status = DPOT_OK;
    uint32_t previous = fs->tail;
    bool is_first = true;
    for (uint32_t number = fs->tail; status == DPOT_OK && number <= fs->last; number++) {
        status = read_page(fs, number);
        if (status != DPOT_OK || get(fs->page + NUMBER_AT, 4) != number || !is_whole(fs->page)) {
            continue;
        }
        const uint32_t named = get(fs->page + PREVIOUS_AT, 4);
        status = (is_first ? named < fs->tail : named == previous)
                     ? apply_page(fs)
                     : fail(fs, "a page of the flash is damaged");
        is_first = false;
        previous = number;
    }
    return status;
}

static void forget_nameless(struct flash_files *fs)
{
    for (size_t i = 0; i < FLASH_FILES; i++) {
        if (is_free(&fs->files[i])) {
            forget_pages(fs, i, 0);
        }
    }
}

dpot_status flash_files_open(struct flash_files *files, const struct flash_port *port)
{
    *files = (struct flash_files){.port = port,
                                  .why = "",
                                  .head = FLASH_PAGES,
                                  .tail = FLASH_PAGES,
                                  .kept_tail = FLASH_PAGES};
    files->filesystem = (struct dpot_filesystem){
        .struct_size = sizeof files->filesystem,
        .ctx = files,
        .open = open_file,
        .close = close_file,
        .size = size_file,
        .read_at = read_at,
        .write_at = write_at,
        .truncate = truncate_file,
        .sync = sync_file,
        .sync_directory = sync_directory,
        .rename = rename_file,
        .remove = remove_file,
        .lock = lock_files,
        .unlock = unlock_files,
        .explain = explain,
    };
    memset(files->owner, FLASH_FILES, sizeof files->owner);
    bool is_found = false;
    dpot_status status = find_log(files, &is_found);
    if (status == DPOT_OK && is_found) {
        status = find_head(files);
        status = status == DPOT_OK ? play_log(files) : status;
        forget_nameless(files);
    }
    return status;
}
