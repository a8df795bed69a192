#include "tool/shared/campaign_file.h"

#include "campaign/spec.h"
#include "mechanism/mechanism.h"
#include "proto/wire_campaign.h"
#include "tool/shared/options.h"
#include "tool/shared/revision.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SIGNED_BYTES_MAX (DPOT_CAMPAIGN_BYTES_MAX + 1024) /* with key id and signature */
#define PATH_SIZE 4096
#define START_LEN 64 /* bytes; a signed file, unlike a text, has a random id within them */

void campaign_file_folder(const char *path, char *out, size_t cap)
{
    const char *slash = strrchr(path, '/');
    const size_t len = slash ? (size_t)(slash - path) : 0;
    (void)snprintf(out, cap, "%.*s", (int)(len < cap ? len : cap - 1), path);
    if (!slash) {
        (void)snprintf(out, cap, ".");
    } else if (len == 0) {
        (void)snprintf(out, cap, "/");
    }
}

void campaign_file_label(const struct campaign_file *file, const char *what,
                         char out[CAMPAIGN_LABEL_SIZE])
{
    char epsilon[32] = "", revision[32] = "";
    const struct dpot_privacy cost = dpot_mechanism_charge(&file->campaign);
    if (cost.epsilon_q32 > 0) { /* a campaign may have a rho only */
        (void)snprintf(epsilon, sizeof epsilon, ", epsilon %.4g",
                       dpot_epsilon_to_double(cost.epsilon_q32));
    }
    if (file->is_signed) {
        (void)snprintf(revision, sizeof revision, ", revision %u",
                       (unsigned)file->campaign.revision);
    }
    (void)snprintf(out, CAMPAIGN_LABEL_SIZE, "%.16s (%.12s%s%s)", what,
                   dpot_mechanism_name(file->campaign.mechanism), epsilon, revision);
}

/* The message of a failed read; the caller names the file. */
static dpot_status refuse_content(struct run *run, dpot_status status, size_t max)
{
    if (status == DPOT_ERR_TOO_LARGE) {
        return dpot_error_set(&run->error, status, "it is larger than %zu bytes", max);
    }
    return dpot_error_set(&run->error, status, "reading failed: %s",
                          status == DPOT_ERR_IO ? strerror(errno) : dpot_status_text(status));
}

/* Reads a file of at most the size of a SPEC. */
static dpot_status read_file(struct run *run, const char *path, struct dpot_buf *out)
{
    uint8_t block[16384];
    size_t n = 0;
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        const char *hint = is_campaign_id(path) ? " (for an ID give --server URL)" : "";
        return dpot_error_set(&run->error, DPOT_ERR_IO, "reading %s failed: %s%s", path,
                              strerror(errno), hint);
    }
    struct stat info;
    if (fstat(fileno(stream), &info) == 0 && S_ISDIR(info.st_mode)) {
        (void)fclose(stream);
        return dpot_error_set(&run->error, DPOT_ERR_IO,
                              "it is a folder: give a SPEC.json or a signed campaign");
    }
    dpot_status status = DPOT_OK;
    while (status == DPOT_OK && (n = fread(block, 1, sizeof block, stream)) > 0) {
        status = dpot_buf_append(out, block, n);
    }
    if (status == DPOT_OK && ferror(stream)) {
        status = DPOT_ERR_IO;
    }
    status = status == DPOT_OK ? status : refuse_content(run, status, out->max);
    (void)fclose(stream);
    return status;
}

dpot_status campaign_file_hash(const struct dpot_campaign *campaign, uint8_t hash[DPOT_HASH_LEN],
                               struct dpot_error *error)
{
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    const dpot_status status = dpot_wire_campaign_encode(campaign, &bytes);
    if (status == DPOT_OK) {
        dpot_hash(hash, bytes.data, bytes.len);
    }
    dpot_buf_release(&bytes);
    return status == DPOT_OK ? status
                             : dpot_error_set(error, status, "the campaign cannot be encoded: %s",
                                              dpot_status_text(status));
}

static dpot_status load_spec(struct run *run, const char *path, const struct dpot_buf *text,
                             struct campaign_file *file)
{
    static const uint8_t no_id[DPOT_CAMPAIGN_ID_LEN];
    char folder[PATH_SIZE];
    json_t *spec = NULL;
    campaign_file_folder(path, folder, sizeof folder);
    dpot_status status = json_parse(text->data, text->len, &spec, &run->error);
    if (status == DPOT_OK) {
        status = spec_inline(spec, folder, &run->error);
    }
    if (status == DPOT_OK) {
        status = spec_compile(spec, no_id, 1, &file->campaign, &run->error);
    }
    if (status == DPOT_OK) {
        status = campaign_file_hash(&file->campaign, file->hash, &run->error);
    }
    json_decref(spec);
    return status;
}

static dpot_status read_pin(struct run *run, uint8_t pin[DPOT_SIGN_PUBLIC_LEN], bool *has_pin)
{
    const char *text = option_text(run, "pin");
    *has_pin = text != NULL;
    if (text && (strlen(text) != 2 * DPOT_SIGN_PUBLIC_LEN ||
                 dpot_hex_decode(text, pin, DPOT_SIGN_PUBLIC_LEN) != DPOT_OK)) {
        return RUN_USAGE(run, "--pin is %.80s: give the 64 hex digits that dpotd init printed",
                         text);
    }
    return DPOT_OK;
}

static dpot_status open_signed(struct run *run, struct campaign_file *file)
{
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    bool has_pin = false;
    struct dpot_signed_campaign opened = {0};
    dpot_status status = read_pin(run, pin, &has_pin);
    if (status == DPOT_OK) {
        status = dpot_wire_campaign_open(file->signed_bytes.data, file->signed_bytes.len,
                                         has_pin ? pin : NULL, NULL, &opened, &run->error);
    }
    if (status == DPOT_OK) {
        status = dpot_mechanism_check_campaign(&opened.campaign, &run->error);
    }
    if (status != DPOT_OK) {
        dpot_signed_campaign_release(&opened);
        return status;
    }
    file->campaign = opened.campaign; /* moved */
    file->is_signed = true;
    memcpy(file->hash, opened.hash, sizeof file->hash);
    memcpy(file->signer, opened.signer, sizeof file->signer);
    return DPOT_OK;
}

/* Downloads the signed bytes: those that devices get, or with a number any revision. */
static dpot_status download(struct run *run, const char *id, uint32_t number,
                            struct campaign_file *file)
{
    struct remote remote;
    char path[96];
    (void)snprintf(path, sizeof path,
                   number > 0 ? "/v1/admin/campaigns/%s/signed" : "/v1/campaigns/%s", id);
    revision_append(path, sizeof path, number);
    dpot_status status = remote_open(run, number > 0, &remote);
    remote.takes_closed = number == 0;
    if (status == DPOT_OK) {
        status = remote_call(&remote, "GET", path, NULL, &file->signed_bytes);
        if (status == DPOT_ERR_NOT_FOUND && number == 0) {
            status = dpot_error_set(&run->error, status,
                                    "%s serves no campaign %s: check the ID, and that it is open",
                                    remote.url, id);
        }
    }
    remote_close(&remote);
    return status;
}

static dpot_status fetch(struct run *run, const char *id, struct campaign_file *file)
{
    uint32_t number = 0;
    dpot_status status = revision_read(run, &number);
    if (status == DPOT_OK) {
        status = download(run, id, number, file);
    }
    if (status == DPOT_OK) {
        status = open_signed(run, file);
    }
    char served[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    dpot_hex_encode(served, file->campaign.id, DPOT_CAMPAIGN_ID_LEN);
    uint8_t asked[DPOT_CAMPAIGN_ID_LEN];
    if (status == DPOT_OK && (dpot_hex_decode(id, asked, sizeof asked) != DPOT_OK ||
                              memcmp(asked, file->campaign.id, sizeof asked) != 0)) {
        status = dpot_error_set(&run->error, DPOT_ERR_SIGNATURE,
                                "the server answered with campaign %s", served);
    }
    if (status == DPOT_OK && number > 0 && file->campaign.revision != number) {
        status = dpot_error_set(&run->error, DPOT_ERR_SIGNATURE,
                                "the server answered with revision %u", file->campaign.revision);
    }
    file->is_remote = true;
    return status;
}

/* True when the file begins as a text that is no SPEC; *what describes the beginning. */
static bool begins_as_text(const struct dpot_buf *bytes, const char **what)
{
    static const char *const marks[] = {"\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF"};
    const size_t n = bytes->len < START_LEN ? bytes->len : START_LEN;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const size_t len = strlen(marks[i]);
        if (n >= len && memcmp(bytes->data, marks[i], len) == 0) {
            *what = "with a byte order mark";
            return true;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = bytes->data[i];
        if ((c < ' ' && !memchr("\t\r\n", c, 3)) || c > '~') {
            return false;
        }
    }
    *what = bytes->data[0] == '['                          ? "with '['"
            : memchr(" \t\r\n", bytes->data[0], 4) != NULL ? "with a blank or an empty line"
                                                           : "with other text";
    return true;
}

/* Loads a file whose first byte is not '{'. A signed campaign may begin with any byte, even a line
 * feed, so other explanations are considered only after it fails to open as one. */
static dpot_status load_signed(struct run *run, const struct dpot_buf *bytes,
                               struct campaign_file *file)
{
    const char *what = NULL;
    if (bytes->len == 0) {
        return dpot_error_set(&run->error, DPOT_ERR_MALFORMED,
                              "the file is empty: give a SPEC.json or a signed campaign");
    }
    dpot_status status = dpot_buf_append(&file->signed_bytes, bytes->data, bytes->len);
    status = status == DPOT_OK ? open_signed(run, file)
                               : refuse_content(run, status, file->signed_bytes.max);
    if (exit_code_of(status) != EXIT_CODE_DATA) {
        return status;
    }
    if (begins_as_text(bytes, &what)) {
        return dpot_error_set(&run->error, status,
                              "the file begins %s: a SPEC begins with '{' at its first byte, and a "
                              "signed campaign is binary",
                              what);
    }
    return dpot_error_prefix(&run->error, status, "as a signed campaign (a SPEC begins with '{')");
}

dpot_status campaign_file_load(struct run *run, const char *text, struct campaign_file *file)
{
    *file = (struct campaign_file){0};
    dpot_buf_init(&file->signed_bytes, SIGNED_BYTES_MAX, NULL);
    dpot_status status = DPOT_OK;
    if (is_campaign_id(text) && option_is_given(run, "server")) {
        status = fetch(run, text, file);
    } else if (option_is_given(run, "revision")) {
        status = RUN_USAGE(run, "--revision goes with an ID and --server: a file is one revision");
    } else {
        struct dpot_buf bytes;
        dpot_buf_init(&bytes, DPOT_JSON_BYTES_MAX, NULL);
        status = read_file(run, text, &bytes);
        if (status == DPOT_OK && bytes.len > 0 && bytes.data[0] == '{') {
            status = load_spec(run, text, &bytes, file);
        } else if (status == DPOT_OK) {
            status = load_signed(run, &bytes, file);
        }
        dpot_buf_release(&bytes);
    }
    if (status != DPOT_OK) {
        campaign_file_release(file);
        return dpot_error_prefix(&run->error, status, "campaign %.200s", text);
    }
    return DPOT_OK;
}

void campaign_file_release(struct campaign_file *file)
{
    dpot_campaign_release(&file->campaign);
    dpot_buf_release(&file->signed_bytes);
    *file = (struct campaign_file){0};
}

dpot_status campaign_file_require_index(struct run *run, const struct campaign_file *file)
{
    const struct dpot_campaign *campaign = &file->campaign;
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "campaign \"%s\" has the mechanism %s, which reports vectors: %s is "
                              "for wpm, kpm and exponential",
                              campaign->name, dpot_mechanism_name(campaign->mechanism),
                              run->command->name);
    }
    if (dpot_campaign_is_sphere(campaign)) {
        return dpot_error_set(
            &run->error, DPOT_ERR_SHAPE,
            "campaign \"%s\" is on a sphere, whose reports name directions of their "
            "own: %s is for lists of points, grids and rings",
            campaign->name, run->command->name);
    }
    return DPOT_OK;
}
