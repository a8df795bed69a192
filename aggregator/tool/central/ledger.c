#include "tool/central/ledger.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/crypto.h"
#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_LEN 64
#define RECORD_LEN 256
#define RECORDS_MAX ((uint64_t)1 << 22) /* 1 GiB */
#define FILE_MODE 0600

static const char magic[] = "DPOTCLG1";

/* Layout of a record: little-endian, the rest zero. */
enum {
    TYPE_AT = 0,      /* u32 */
    ADJACENCY_AT = 4, /* u32 */
    SEQ_AT = 8,
    TIME_AT = 16,
    EPSILON_AT = 24,
    DELTA_AT = 32,
    RHO_AT = 40,
    NAME_AT = 64,
    MECHANISM_AT = NAME_AT + LEDGER_NAME_SIZE,
    CHECKSUM_AT = RECORD_LEN - DPOT_HASH_LEN,
};
enum {
    TYPE_BEGIN = 0x4e474542, /* "BEGN" */
    TYPE_CHARGE = 0x47524843 /* "CHRG" */
};

/* The open file; its lock is held. */
struct ledger_file {
    const char *path; /* borrowed */
    int fd;
    uint64_t n_records; /* valid ones */
    bool is_new;        /* no header yet */
    bool is_torn;       /* more bytes follow the valid records */
    uint8_t header[HEADER_LEN];
    uint8_t last[RECORD_LEN];
    struct ledger content;
};

/* ---- numbers and names ---- */

uint64_t ledger_units(double value, double unit)
{
    const double units = floor(value * unit); /* a product with a power of 2 is exact */
    return units < 18446744073709549568.0 ? (uint64_t)units : LEDGER_NO_CAP - 1;
}

static uint64_t add_units(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static struct ledger_cost add_cost(struct ledger_cost a, struct ledger_cost b)
{
    return (struct ledger_cost){add_units(a.epsilon, b.epsilon), add_units(a.delta, b.delta),
                                add_units(a.rho, b.rho)};
}

static bool is_within(struct ledger_cost cost, struct ledger_cost caps)
{
    return cost.epsilon <= caps.epsilon && cost.delta <= caps.delta && cost.rho <= caps.rho;
}

static bool is_same_cost(struct ledger_cost a, struct ledger_cost b)
{
    return is_within(a, b) && is_within(b, a);
}

bool ledger_is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t len = strlen(name);
    return len > 0 && len < LEDGER_NAME_SIZE && strspn(name, allowed) == len;
}

static struct ledger_data_set *find_data_set(const struct ledger *ledger, const char *name)
{
    for (size_t i = 0; i < ledger->n_data_sets; i++) {
        if (strcmp(ledger->data_sets[i].name, name) == 0) {
            return &ledger->data_sets[i];
        }
    }
    return NULL;
}

/* ---- bytes ---- */

static dpot_status fail(const struct ledger_file *file, const char *what, struct dpot_error *error)
{
    const int cause = errno;
    return dpot_error_set(error,
                          cause == ENOSPC || cause == EDQUOT ? DPOT_ERR_NO_SPACE : DPOT_ERR_IO,
                          "%s --ledger %s failed: %s", what, file->path,
                          cause == ELOOP    ? "it is a link: name the file itself"
                          : cause == ENOENT ? "it is not there: the first run of a data set makes "
                                              "it, with --epsilon-cap or --rho-cap"
                                            : strerror(cause));
}

static dpot_status refuse_file(const struct ledger_file *file, const char *what,
                               struct dpot_error *error)
{
    return dpot_error_set(
        error, DPOT_ERR_CORRUPT,
        "--ledger %s %s: nothing was charged and no data were read; put back a copy "
        "that has every charge",
        file->path, what);
}

static bool read_at(int fd, uint64_t offset, uint8_t *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = pread(fd, data, len, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n < 0 ? errno : EIO; /* 0: the file ends here */
            return false;
        }
        data += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return true;
}

static bool write_at(int fd, uint64_t offset, const uint8_t *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = pwrite(fd, data, len, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n < 0 ? errno : EIO;
            return false;
        }
        data += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return true;
}

static bool sync_file(int fd)
{
    int result = 0;
    do {
        result = fsync(fd);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

static uint64_t offset_of(uint64_t seq)
{
    return HEADER_LEN + seq * RECORD_LEN;
}

static void make_header(uint8_t header[HEADER_LEN])
{
    memset(header, 0, HEADER_LEN);
    memcpy(header, magic, sizeof magic - 1);
    dpot_hash(header + HEADER_LEN - DPOT_HASH_LEN, header, HEADER_LEN - DPOT_HASH_LEN);
}

/* The checksum of a record that follows the records so far. */
static void make_checksum(const struct ledger_file *file, const uint8_t *record,
                          uint8_t checksum[DPOT_HASH_LEN])
{
    const uint8_t *before =
        file->n_records > 0 ? file->last + CHECKSUM_AT : file->header + HEADER_LEN - DPOT_HASH_LEN;
    struct dpot_hasher hasher;
    dpot_hasher_init(&hasher);
    dpot_hasher_add(&hasher, before, DPOT_HASH_LEN);
    dpot_hasher_add(&hasher, record, CHECKSUM_AT);
    dpot_hasher_end(&hasher, checksum);
}

/* ---- reading ---- */

/* Reads a name; false: invalid characters, or no terminator. */
static bool take_name(const uint8_t *record, size_t at, char name[LEDGER_NAME_SIZE])
{
    memcpy(name, record + at, LEDGER_NAME_SIZE);
    return name[LEDGER_NAME_SIZE - 1] == '\0' && ledger_is_name(name);
}

static dpot_status add_data_set(struct ledger *ledger, const struct ledger_data_set *data_set)
{
    struct ledger_data_set *grown = dpot_resize_array(NULL, ledger->data_sets, ledger->n_data_sets,
                                                      ledger->n_data_sets + 1, sizeof *grown);
    if (!grown) {
        return DPOT_ERR_MEMORY;
    }
    ledger->data_sets = grown;
    ledger->data_sets[ledger->n_data_sets++] = *data_set;
    return DPOT_OK;
}

/* Applies a record with a valid checksum. The caller has allocated the entry. */
static dpot_status apply(struct ledger_file *file, const uint8_t *record)
{
    struct ledger *ledger = &file->content;
    const uint32_t type = dpot_load_u32(record + TYPE_AT);
    struct ledger_entry entry = {
        .adjacency = (enum adjacency)dpot_load_u32(record + ADJACENCY_AT),
        .cost = {dpot_load_u64(record + EPSILON_AT), dpot_load_u64(record + DELTA_AT),
                 dpot_load_u64(record + RHO_AT)},
        .time_ms = (int64_t)dpot_load_u64(record + TIME_AT),
    };
    if (dpot_load_u64(record + SEQ_AT) != file->n_records ||
        !take_name(record, NAME_AT, entry.name)) {
        return DPOT_ERR_CORRUPT;
    }
    struct ledger_data_set *old = find_data_set(ledger, entry.name);
    if (type == TYPE_BEGIN && !old) {
        struct ledger_data_set begun = {.adjacency = entry.adjacency, .caps = entry.cost};
        memcpy(begun.name, entry.name, sizeof begun.name);
        return add_data_set(ledger, &begun);
    }
    if (type != TYPE_CHARGE || !old || old->adjacency != entry.adjacency ||
        !take_name(record, MECHANISM_AT, entry.mechanism)) {
        return DPOT_ERR_CORRUPT;
    }
    old->spent = add_cost(old->spent, entry.cost);
    old->n_charges++;
    ledger->entries[ledger->n_entries++] = entry;
    return DPOT_OK;
}

/* (C2): an invalid record is torn if it is the last, otherwise the file is damaged. */
static dpot_status load_records(struct ledger_file *file, uint64_t n, bool has_part,
                                struct dpot_error *error)
{
    for (uint64_t i = 0; i < n; i++) {
        uint8_t record[RECORD_LEN], checksum[DPOT_HASH_LEN];
        if (!read_at(file->fd, offset_of(i), record, sizeof record)) {
            return fail(file, "reading", error);
        }
        make_checksum(file, record, checksum);
        if (memcmp(checksum, record + CHECKSUM_AT, sizeof checksum) != 0) {
            file->is_torn = i + 1 == n && !has_part;
            return file->is_torn ? DPOT_OK : refuse_file(file, "is damaged in its middle", error);
        }
        const dpot_status status = apply(file, record);
        if (status != DPOT_OK) {
            return status == DPOT_ERR_CORRUPT
                       ? refuse_file(file, "has a record that cannot follow", error)
                       : status;
        }
        memcpy(file->last, record, sizeof record);
        file->n_records++;
    }
    file->is_torn = has_part;
    return DPOT_OK;
}

/* A file shorter than its header is being created: nothing was charged to it. */
static dpot_status load_header(struct ledger_file *file, uint64_t size, struct dpot_error *error)
{
    uint8_t found[HEADER_LEN];
    const size_t len = size < HEADER_LEN ? (size_t)size : HEADER_LEN;
    make_header(file->header);
    if (!read_at(file->fd, 0, found, len)) {
        return fail(file, "reading", error);
    }
    file->is_new = len < HEADER_LEN;
    return memcmp(found, file->header, len) == 0
               ? DPOT_OK
               : refuse_file(file, "does not begin like a ledger", error);
}

static dpot_status load(struct ledger_file *file, struct dpot_error *error)
{
    struct stat info;
    if (fstat(file->fd, &info) != 0) {
        return fail(file, "reading", error);
    }
    if (!S_ISREG(info.st_mode)) {
        return refuse_file(file, "is no regular file", error);
    }
    const uint64_t size = (uint64_t)info.st_size;
    const dpot_status status = load_header(file, size, error);
    if (status != DPOT_OK || file->is_new) {
        return status;
    }
    const uint64_t n = (size - HEADER_LEN) / RECORD_LEN;
    if (n > RECORDS_MAX) {
        return refuse_file(file, "has more than 4194304 records", error);
    }
    file->content.entries = dpot_alloc_array(NULL, (size_t)n + 1, sizeof *file->content.entries);
    return file->content.entries
               ? load_records(file, n, (size - HEADER_LEN) % RECORD_LEN != 0, error)
               : DPOT_ERR_MEMORY;
}

static bool lock_file(int fd, int how)
{
    int result = 0;
    do {
        result = flock(fd, how);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/* Whether the path still names the open file: the last holder of the lock may have replaced it. */
static bool is_at_path(const struct ledger_file *file)
{
    struct stat open_one, named;
    return fstat(file->fd, &open_one) == 0 && stat(file->path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* (C3). O_NONBLOCK: opening a pipe must not wait. */
static dpot_status open_ledger(struct ledger_file *file, const char *path, int flags, int lock,
                               struct dpot_error *error)
{
    *file = (struct ledger_file){.path = path};
    for (;;) {
        file->fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
        if (file->fd < 0) {
            return fail(file, "opening", error);
        }
        if (!lock_file(file->fd, lock)) {
            return fail(file, "locking", error);
        }
        if (is_at_path(file)) {
            return load(file, error);
        }
        (void)close(file->fd);
    }
}

static void close_ledger(struct ledger_file *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd); /* synced before if needed; releases the lock */
    }
    ledger_release(&file->content);
}

/* ---- writing ---- */

static dpot_status make_durable(const struct ledger_file *file, struct dpot_error *error)
{
    return sync_file(file->fd) && output_sync_folder(file->path) ? DPOT_OK
                                                                 : fail(file, "syncing", error);
}

/* Makes the loaded records durable: cuts off a torn end, and writes the last record again, because
 * after a failed sync the next one is meaningful only for newly written bytes. */
static dpot_status repair(struct ledger_file *file, struct dpot_error *error)
{
    const bool has_records = file->n_records > 0;
    bool is_done = true;
    if (file->is_torn) {
        is_done = ftruncate(file->fd, (off_t)offset_of(file->n_records)) == 0;
    }
    is_done = is_done && (has_records ? write_at(file->fd, offset_of(file->n_records - 1),
                                                 file->last, sizeof file->last)
                                      : write_at(file->fd, 0, file->header, sizeof file->header));
    return is_done ? make_durable(file, error) : fail(file, "writing", error);
}

static dpot_status append(struct ledger_file *file, uint32_t type, const struct ledger_entry *entry,
                          struct dpot_error *error)
{
    uint8_t record[RECORD_LEN] = {0};
    dpot_store_u32(record + TYPE_AT, type);
    dpot_store_u32(record + ADJACENCY_AT, (uint32_t)entry->adjacency);
    dpot_store_u64(record + SEQ_AT, file->n_records);
    dpot_store_u64(record + TIME_AT, (uint64_t)entry->time_ms);
    dpot_store_u64(record + EPSILON_AT, entry->cost.epsilon);
    dpot_store_u64(record + DELTA_AT, entry->cost.delta);
    dpot_store_u64(record + RHO_AT, entry->cost.rho);
    memcpy(record + NAME_AT, entry->name, LEDGER_NAME_SIZE);
    memcpy(record + MECHANISM_AT, entry->mechanism, LEDGER_NAME_SIZE);
    make_checksum(file, record, record + CHECKSUM_AT);
    if (!write_at(file->fd, offset_of(file->n_records), record, sizeof record)) {
        return fail(file, "writing", error);
    }
    memcpy(file->last, record, sizeof record);
    file->n_records++;
    return make_durable(file, error);
}

/* ---- caps ---- */

static dpot_status refuse_cost(const struct ledger_data_set *data_set,
                               const struct ledger_entry *request, struct dpot_error *error)
{
    const double one = (double)LEDGER_ONE;
    if (data_set->caps.rho != LEDGER_NO_CAP) {
        return dpot_error_set(
            error, DPOT_ERR_BUDGET,
            "data set %s has spent rho %.9g of %.9g, and this run is %.9g: nothing "
            "was charged and no data were read",
            request->name, (double)data_set->spent.rho / one, (double)data_set->caps.rho / one,
            (double)request->cost.rho / one);
    }
    return dpot_error_set(
        error, DPOT_ERR_BUDGET,
        "data set %s has spent epsilon %.9g of %.9g and delta %.3g of %.3g, and this run is %.9g "
        "and %.3g: nothing was charged and no data were read",
        request->name, (double)data_set->spent.epsilon / one, (double)data_set->caps.epsilon / one,
        (double)data_set->spent.delta / LEDGER_DELTA_ONE,
        (double)data_set->caps.delta / LEDGER_DELTA_ONE, (double)request->cost.epsilon / one,
        (double)request->cost.delta / LEDGER_DELTA_ONE);
}

static dpot_status check_old(const struct ledger_data_set *data_set,
                             const struct ledger_entry *request, const struct ledger_cost *caps,
                             struct dpot_error *error)
{
    if (caps && !is_same_cost(*caps, data_set->caps)) {
        return dpot_error_set(error, DPOT_ERR_BUDGET,
                              "data set %s has other caps, and they are fixed: leave them out",
                              request->name);
    }
    if (data_set->adjacency != request->adjacency) {
        return dpot_error_set(error, DPOT_ERR_BUDGET,
                              "data set %s is kept for %s and this run is %s: one sum cannot hold "
                              "both: choose --adjacency %s",
                              request->name, adjacency_name(data_set->adjacency),
                              adjacency_name(request->adjacency),
                              adjacency_name(data_set->adjacency));
    }
    return is_within(add_cost(data_set->spent, request->cost), data_set->caps)
               ? DPOT_OK
               : refuse_cost(data_set, request, error);
}

static dpot_status check(const struct ledger *ledger, const struct ledger_entry *request,
                         const struct ledger_cost *caps, bool *is_new, struct dpot_error *error)
{
    const struct ledger_data_set *old = find_data_set(ledger, request->name);
    *is_new = !old;
    if (old) {
        return check_old(old, request, caps, error);
    }
    if (!caps) {
        return dpot_error_set(
            error, DPOT_ERR_BUDGET,
            "the ledger has no data set %s: is the name right? The first run of one "
            "gives --epsilon-cap or --rho-cap",
            request->name);
    }
    const struct ledger_data_set none = {.caps = *caps};
    return is_within(request->cost, *caps) ? DPOT_OK : refuse_cost(&none, request, error);
}

static dpot_status charge(struct ledger_file *file, const struct ledger_entry *request,
                          const struct ledger_cost *caps, struct dpot_error *error)
{
    bool is_new = false;
    dpot_status status = check(&file->content, request, caps, &is_new, error);
    if (status == DPOT_OK && file->n_records + 2 > RECORDS_MAX) {
        status = refuse_file(file, "is full", error);
    }
    if (status == DPOT_OK) {
        status = repair(file, error);
    }
    if (status == DPOT_OK && is_new) {
        struct ledger_entry begin = *request;
        begin.cost = *caps;
        memset(begin.mechanism, 0, sizeof begin.mechanism);
        status = append(file, TYPE_BEGIN, &begin, error);
    }
    return status == DPOT_OK ? append(file, TYPE_CHARGE, request, error) : status;
}

/* A directory entry lost by a failed sync of the folder is not made durable by a later sync, only
 * by creating it again: a file without records is created anew. */
static dpot_status open_to_charge(struct ledger_file *file, const char *path, bool may_make,
                                  struct dpot_error *error)
{
    const int flags = may_make ? O_RDWR | O_CREAT : O_RDWR;
    const dpot_status status = open_ledger(file, path, flags, LOCK_EX, error);
    if (status != DPOT_OK || !may_make || file->n_records > 0) {
        return status;
    }
    if (unlink(path) != 0) {
        return fail(file, "making", error);
    }
    close_ledger(file);
    return open_ledger(file, path, flags, LOCK_EX, error);
}

dpot_status ledger_charge(const char *path, const struct ledger_entry *request,
                          const struct ledger_cost *caps, struct dpot_error *error)
{
    struct ledger_file file;
    dpot_status status = open_to_charge(&file, path, caps != NULL, error);
    if (status == DPOT_OK) {
        status = charge(&file, request, caps, error);
    }
    close_ledger(&file);
    return status;
}

/* ---- reading ---- */

dpot_status ledger_read(const char *path, struct ledger *ledger, struct dpot_error *error)
{
    struct ledger_file file;
    const dpot_status status = open_ledger(&file, path, O_RDONLY, LOCK_SH, error);
    *ledger = file.content;
    file.content = (struct ledger){0};
    close_ledger(&file);
    return status;
}

void ledger_release(struct ledger *ledger)
{
    dpot_free_array(NULL, ledger->data_sets, ledger->n_data_sets, sizeof *ledger->data_sets);
    dpot_free_array(NULL, ledger->entries, ledger->n_entries, sizeof *ledger->entries);
    *ledger = (struct ledger){0};
}
