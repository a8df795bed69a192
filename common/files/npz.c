#include "files/npz.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/crypto.h"
#include "files/gzip.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#define PIPE_LOG2 32u /* an archive in memory has at most 2^32 bytes */
#define BLOCK 65536
#define LIST_SIZE 160 /* bytes of the names in an error */
#define ENDING ".npy"

struct npz {
    zip_t *archive;
    zip_file_t *member;
    struct dpot_buf bytes; /* of an archive that is no regular file */
};

bool npz_has_start(const uint8_t *start, size_t len)
{
    return len >= 4 && (memcmp(start, "PK\3\4", 4) == 0 || memcmp(start, "PK\5\6", 4) == 0);
}

static dpot_status refuse(zip_error_t *reason, struct dpot_error *error)
{
    return zip_error_code_zip(reason) == ZIP_ER_MEMORY
               ? dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for unpacking")
               : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the archive is damaged or cut off (%s): fetch or save it again",
                                zip_error_strerror(reason));
}

static dpot_status refuse_code(int code, struct dpot_error *error)
{
    zip_error_t reason;
    zip_error_init_with_code(&reason, code);
    const dpot_status status = refuse(&reason, error);
    zip_error_fini(&reason);
    return status;
}

/* ---- the archive ---- */

/* As dpot_buf_append, but the block that became too small is wiped. */
static dpot_status append_secret(struct dpot_buf *bytes, const void *data, size_t len)
{
    if (bytes->cap - bytes->len < len) {
        struct dpot_buf larger;
        const size_t wanted = bytes->len < bytes->max / 2 ? 2 * bytes->len + len : bytes->max;
        dpot_buf_init(&larger, bytes->max, NULL);
        dpot_status status = dpot_buf_reserve(&larger, wanted);
        if (status == DPOT_OK) {
            status = dpot_buf_append(&larger, bytes->data, bytes->len);
        }
        if (status != DPOT_OK) {
            dpot_buf_release_secret(&larger);
            return status;
        }
        dpot_buf_release_secret(bytes);
        *bytes = larger;
    }
    return dpot_buf_append(bytes, data, len);
}

static dpot_status read_bytes(FILE *stream, const struct array_rules *rules, struct dpot_buf *bytes,
                              struct dpot_error *error)
{
    const unsigned log2 = rules->bytes_log2 < PIPE_LOG2 ? rules->bytes_log2 : PIPE_LOG2;
    uint8_t block[BLOCK];
    size_t n = 1;
    dpot_status status = DPOT_OK;
    dpot_buf_init(bytes, (size_t)1 << log2, NULL);
    while (status == DPOT_OK && n > 0) {
        n = fread(block, 1, sizeof block, stream);
        status = append_secret(bytes, block, n);
    }
    dpot_wipe(block, sizeof block);
    if (status == DPOT_ERR_TOO_LARGE) {
        return dpot_error_set(error, status, "the archive is larger than 2^%u bytes", log2);
    }
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "out of memory for the archive");
    }
    return ferror(stream)
               ? dpot_error_set(error, DPOT_ERR_IO, "reading failed: %s", strerror(errno))
               : DPOT_OK;
}

/* False: only memory will do. */
static bool is_whole_file(FILE *stream, struct stat *info)
{
    const int fd = fileno(stream);
    return fd >= 0 && fstat(fd, info) == 0 && S_ISREG(info->st_mode) && ftello(stream) == 0;
}

static dpot_status open_file(int stream_fd, struct npz *npz, struct dpot_error *error)
{
    int code = ZIP_ER_OPEN;
    const int fd = dup(stream_fd);
    npz->archive = fd >= 0 ? zip_fdopen(fd, 0, &code) : NULL;
    if (npz->archive) {
        return DPOT_OK;
    }
    (void)(fd >= 0 && close(fd));
    return refuse_code(code, error);
}

static dpot_status open_bytes(FILE *stream, const struct array_rules *rules, struct npz *npz,
                              struct dpot_error *error)
{
    zip_error_t reason;
    const dpot_status status = read_bytes(stream, rules, &npz->bytes, error);
    if (status != DPOT_OK) {
        return status;
    }
    zip_error_init(&reason);
    zip_source_t *source = zip_source_buffer_create(npz->bytes.data, npz->bytes.len, 0, &reason);
    npz->archive = source ? zip_open_from_source(source, ZIP_RDONLY, &reason) : NULL;
    if (!npz->archive && source) {
        zip_source_free(source);
    }
    const dpot_status opened = npz->archive ? DPOT_OK : refuse(&reason, error);
    zip_error_fini(&reason);
    return opened;
}

static dpot_status open_archive(FILE *stream, const struct array_rules *rules, struct npz *npz,
                                struct dpot_error *error)
{
    struct stat info;
    if (!is_whole_file(stream, &info)) {
        return open_bytes(stream, rules, npz, error);
    }
    return (uint64_t)info.st_size > (uint64_t)1 << rules->bytes_log2
               ? dpot_error_set(error, DPOT_ERR_TOO_LARGE, "the file is larger than 2^%u bytes",
                                rules->bytes_log2)
               : open_file(fileno(stream), npz, error);
}

/* ---- its arrays ---- */

/* The length of an array's name without the ending; 0: the member is no array. */
static size_t name_len(const char *member)
{
    const size_t len = member ? strlen(member) : 0, end_len = strlen(ENDING);
    return len > end_len && strcmp(member + len - end_len, ENDING) == 0 ? len - end_len : 0;
}

static bool has_name(const char *member, const char *name)
{
    const size_t len = name_len(member);
    return strcmp(member, name) == 0 || (strlen(name) == len && memcmp(member, name, len) == 0);
}

/* Adds ", name", or "..." where the list is full. */
static void list_name(char list[LIST_SIZE], const char *member)
{
    const size_t at = strlen(list), len = name_len(member);
    if (at + len + sizeof ", ..." < LIST_SIZE) {
        (void)snprintf(list + at, LIST_SIZE - at, "%s%.*s", at > 0 ? ", " : "", (int)len, member);
    } else if (at < 3 || strcmp(list + at - 3, "...") != 0) {
        (void)snprintf(list + at, LIST_SIZE - at, "%s...", at > 0 ? ", " : "");
    }
}

static dpot_status refuse_choice(const char *name, size_t n, const char *list, bool is_private,
                                 struct dpot_error *error)
{
    if (n == 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "it is a ZIP archive without a .npy file: save arrays with "
                              "numpy.savez, or a table as CSV");
    }
    if (is_private) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "it holds %zu array%s%s: choose one by its name, as in FILE.npz:NAME",
                              n, DPOT_S(n), name ? " and none of that name" : "");
    }
    return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                          "%s%.60s%s %zu array%s (%s): choose one by its name, as in "
                          "FILE.npz:NAME",
                          name ? "there is no array " : "", name ? name : "",
                          name ? " in the archive of" : "it holds", n, DPOT_S(n), list);
}

static dpot_status choose(zip_t *archive, const char *name, bool is_private, zip_uint64_t *chosen,
                          struct dpot_error *error)
{
    char list[LIST_SIZE] = "";
    size_t n = 0, n_named = 0;
    const zip_int64_t n_members = zip_get_num_entries(archive, 0);
    for (zip_int64_t i = 0; i < n_members; i++) {
        const char *member = zip_get_name(archive, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        if (name_len(member) == 0) {
            continue;
        }
        n++;
        list_name(list, member);
        if (!name || has_name(member, name)) {
            *chosen = (zip_uint64_t)i;
            n_named++;
        }
    }
    return n_named == 1 || (name && n_named > 0) ? DPOT_OK
                                                 : refuse_choice(name, n, list, is_private, error);
}

/* Other methods are not handed to libzip, which may know them: NumPy writes none. */
static dpot_status check_member(const zip_stat_t *info, struct dpot_error *error)
{
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((info->valid & needed) != needed) {
        return refuse_code(ZIP_ER_INCONS, error);
    }
    if ((info->valid & ZIP_STAT_ENCRYPTION_METHOD) && info->encryption_method != ZIP_EM_NONE) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the array is encrypted: unpack the archive first");
    }
    if (info->comp_method != ZIP_CM_STORE && info->comp_method != ZIP_CM_DEFLATE) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the array is packed by method %u: save it with numpy.savez or "
                              "numpy.savez_compressed",
                              info->comp_method);
    }
    const uint64_t ratio = info->comp_method == ZIP_CM_STORE ? 1 : GZIP_RATIO_MAX;
    return info->comp_size < (uint64_t)1 << 48 && info->size <= (info->comp_size + 1) * ratio
               ? DPOT_OK
               : refuse_code(ZIP_ER_INCONS, error);
}

static dpot_status open_member(struct npz *npz, const char *name, bool is_private, uint64_t *size,
                               struct dpot_error *error)
{
    zip_stat_t info;
    zip_uint64_t chosen = 0;
    zip_stat_init(&info);
    dpot_status status = choose(npz->archive, name, is_private, &chosen, error);
    if (status == DPOT_OK && zip_stat_index(npz->archive, chosen, 0, &info) != 0) {
        status = refuse(zip_get_error(npz->archive), error);
    }
    if (status == DPOT_OK) {
        status = check_member(&info, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    *size = info.size;
    npz->member = zip_fopen_index(npz->archive, chosen, 0);
    return npz->member ? DPOT_OK : refuse(zip_get_error(npz->archive), error);
}

dpot_status npz_open(FILE *stream, const char *name, const struct array_rules *rules,
                     struct npz **npz, uint64_t *size, struct dpot_error *error)
{
    *npz = dpot_alloc_array(NULL, 1, sizeof **npz);
    if (!*npz) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for unpacking");
    }
    dpot_status status = open_archive(stream, rules, *npz, error);
    if (status == DPOT_OK) {
        status = open_member(*npz, name, rules->is_private, size, error);
    }
    if (status != DPOT_OK) {
        npz_close(*npz);
        *npz = NULL;
    }
    return status;
}

void npz_close(struct npz *npz)
{
    if (!npz) {
        return;
    }
    (void)(npz->member && zip_fclose(npz->member));
    if (npz->archive) {
        zip_discard(npz->archive);
    }
    dpot_buf_release_secret(&npz->bytes);
    dpot_free_array(NULL, npz, 1, sizeof *npz);
}

dpot_status npz_read(struct npz *npz, void *out, size_t cap, size_t *len, struct dpot_error *error)
{
    zip_int64_t n = 1;
    for (*len = 0; *len < cap && n > 0; *len += n > 0 ? (size_t)n : 0) {
        n = zip_fread(npz->member, (char *)out + *len, cap - *len);
    }
    return n >= 0 ? DPOT_OK : refuse(zip_file_get_error(npz->member), error);
}
