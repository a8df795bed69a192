#include "tool/shared/provenance.h"

#include "campaign/content.h"
#include "json/side_file.h"

#include <string.h>

struct pairing {
    struct run *run;
    const struct campaign_file *file;
    const char *option, *path;
    const json_t *side;
};

/* Reads a text of the side file; NULL if the key is missing. */
static dpot_status get_text(const struct pairing *p, const char *key, const char **text)
{
    const dpot_status status = json_get_string(p->side, "", key, text, &p->run->error);
    if (status == DPOT_ERR_NOT_FOUND) {
        return DPOT_OK;
    }
    return status == DPOT_OK ? status
                             : dpot_error_prefix(&p->run->error, status,
                                                 "--%s %.120s: its side file", p->option, p->path);
}

/* "revision 2, " if the side file has the number. */
static const char *name_revision(const struct pairing *p, char *out, size_t cap)
{
    const json_int_t number = json_integer_value(json_object_get(p->side, "revision"));
    out[0] = '\0';
    if (number > 0) {
        (void)snprintf(out, cap, "revision %lld, ", (long long)number);
    }
    return out;
}

static dpot_status refuse_hash(const struct pairing *p, const char *text, const char *hash)
{
    char revision[40];
    return dpot_error_set(&p->run->error, DPOT_ERR_RANGE,
                          "--%s %.100s holds reports of campaign hash %.12s... (%sby its side "
                          "file), not of %.12s... (revision %u): give the campaign of this "
                          "pool (--revision, or dpot campaign fetch)",
                          p->option, p->path, text, name_revision(p, revision, sizeof revision),
                          hash, p->file->campaign.revision);
}

/* Only a signed campaign has the hash under which devices report. */
static dpot_status check_hash(const struct pairing *p, const char *text)
{
    char hash[2 * DPOT_HASH_LEN + 1];
    dpot_hex_encode(hash, p->file->hash, sizeof p->file->hash);
    return text && p->file->is_signed && strcmp(text, hash) != 0 ? refuse_hash(p, text, hash)
                                                                 : DPOT_OK;
}

static dpot_status check_content(const struct pairing *p, const char *text)
{
    uint8_t digest[DPOT_HASH_LEN];
    char hex[2 * DPOT_HASH_LEN + 1], revision[40];
    const dpot_status status = content_digest(&p->file->campaign, digest, &p->run->error);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_hex_encode(hex, digest, sizeof digest);
    return strcmp(text, hex) == 0
               ? DPOT_OK
               : dpot_error_set(
                     &p->run->error, DPOT_ERR_RANGE,
                     "--%s %.100s holds reports of %scontent %.12s..., and the campaign's is "
                     "%.12s...: mechanism, points, epsilon or base measure differ: give the "
                     "campaign of this pool (dpot campaign fetch)",
                     p->option, p->path, name_revision(p, revision, sizeof revision), text, hex);
}

/* For an older side file and an unsigned campaign, the mechanism is all that can be compared. */
static dpot_status check_mechanism(const struct pairing *p)
{
    const char *text = NULL;
    const char *name = dpot_mechanism_name(p->file->campaign.mechanism);
    const dpot_status status = get_text(p, "mechanism", &text);
    if (status == DPOT_OK && text && strcmp(text, name) != 0) {
        return dpot_error_set(&p->run->error, DPOT_ERR_RANGE,
                              "--%s %.100s holds reports of the mechanism %.20s, and the "
                              "campaign's is %s: give the campaign of this pool",
                              p->option, p->path, text, name);
    }
    return status;
}

/* Side files of pools name the mechanism or content of the campaign, older ones its hash. Results
 * of other commands have side files too (an estimate, which has a method). */
static bool is_of_pool(const json_t *side)
{
    const json_t *hash = json_object_get(side, "campaign_hash");
    return json_object_get(side, "mechanism") || json_object_get(side, "content_digest") ||
           (hash && !json_is_null(hash) && !json_object_get(side, "method"));
}

/* A side file without content; the hash was compared already if the campaign is signed. */
static dpot_status check_older(const struct pairing *p, const char *hash)
{
    const dpot_status status = check_mechanism(p);
    if (status == DPOT_OK && !(hash && p->file->is_signed)) {
        run_warn(p->run,
                 "the file beside --%s %.100s is of an older version: that the pool is this "
                 "campaign's could not be checked (dpot pool --out writes a new one)",
                 p->option, p->path);
    }
    return status;
}

static dpot_status check(const struct pairing *p)
{
    const char *hash = NULL, *content = NULL;
    if (!is_of_pool(p->side)) {
        run_warn(p->run,
                 "the file beside --%s %.100s is not a pool's, but of the result of another "
                 "command: give a file of reports, from dpot pool --out or dpot simulate",
                 p->option, p->path);
        return DPOT_OK;
    }
    dpot_status status = get_text(p, "campaign_hash", &hash);
    if (status == DPOT_OK) {
        status = get_text(p, "content_digest", &content);
    }
    if (status == DPOT_OK) {
        status = check_hash(p, hash);
    }
    if (status != DPOT_OK) {
        return status;
    }
    return content ? check_content(p, content) : check_older(p, hash);
}

dpot_status provenance_check(struct run *run, const struct campaign_file *file, const char *option,
                             const char *path, json_t **side)
{
    dpot_status status = side_file_read(path, side, &run->error);
    if (status == DPOT_ERR_NOT_FOUND) {
        run_warn(
            run,
            "there is no file beside --%s %.100s: that the pool is this campaign's could not be "
            "checked (dpot pool --out writes one)",
            option, path);
        return DPOT_OK;
    }
    if (status == DPOT_OK) {
        status = check(&(struct pairing){run, file, option, path, *side});
    }
    if (status != DPOT_OK) {
        json_decref(*side);
        *side = NULL;
    }
    return status;
}
