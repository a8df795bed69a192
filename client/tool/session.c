#include "session.h"

#include "base/crypto.h"
#include "cli/object.h"
#include "cli/options.h"
#include "storage/files.h"
#include "storage/install.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Terms of libdpot's sentences and of the command line. Of two terms that begin alike the longer
 * comes first. */
static const struct {
    const char *in_c, *here;
} words[] = {
    {"; a disk error has poisoned this handle: close it and open again",
     ": run the command again when that is mended"},
    {"a disk error has poisoned this handle: close it and open again",
     "a disk error: run the command again when it is mended"},
    {"dpot_client_submit_vector", "--vector"},
    {"dpot_client_grant", "dpot-device grant"},
    {"Withdraw again", "Run dpot-device withdraw again"},
    {"the next opening of the folder", "the next command"},
    {"enroll again", "run dpot-device enroll again"},
    {"enroll first", "run dpot-device enroll first"},
    {"config.campaign_epsilon_cap", "--campaign-cap"},
    {"config.window_epsilon_cap", "--window-cap"},
    {"config.lifetime_epsilon_cap", "--lifetime-cap"},
    {"config.campaign_rho_cap", "--campaign-cap"},
    {"config.window_rho_cap", "--window-cap"},
    {"config.lifetime_rho_cap", "--lifetime-cap"},
    {"config.campaign_delta_cap", "--delta-cap"},
    {"config.window_delta_cap", "--delta-cap"},
    {"config.lifetime_delta_cap", "--delta-cap"},
    {"config.window_seconds", "--window-seconds"},
    {"config.group", "--group"},
    {"config.spool_max_bytes", "--max-spool"},
    {"config.work_max_ms", "the limit of dpot-device"},
    {"config.accountant", "--accountant"},
    {"DPOT_ACCOUNTANT_BASIC", "basic"},
    {"DPOT_ACCOUNTANT_ZCDP", "zcdp"},
};

/* Copies `text` in the terms of the command line, cut to fit. */
static void translate(const char *text, char *out, size_t size)
{
    size_t used = 0;
    while (*text && used + 1 < size) {
        const char *piece = NULL;
        for (size_t i = 0; !piece && i < sizeof words / sizeof words[0]; i++) {
            const size_t len = strlen(words[i].in_c);
            if (strncmp(text, words[i].in_c, len) == 0) {
                piece = words[i].here;
                text += len;
            }
        }
        const char one[2] = {*text, '\0'};
        const int n = snprintf(out + used, size - used, "%s", piece ? piece : one);
        text += piece ? 0 : 1;
        used += n > 0 ? (size_t)n : 0;
    }
    out[used < size ? used : size - 1] = '\0';
}

dpot_status session_fail_with(struct run *run, dpot_status status, const char *sentence)
{
    translate(sentence[0] ? sentence : dpot_status_text(status), run->error.text,
              sizeof run->error.text);
    run->forced_exit = status == DPOT_ERR_BUSY ? EXIT_CODE_NOT_READY : 0;
    return status;
}

dpot_status session_fail(const struct session *s, struct run *run, dpot_status status)
{
    return session_fail_with(run, status, dpot_client_last_error(s->client));
}

/* Whether the folder is empty; false if it cannot be read. */
static bool is_empty(const char *path)
{
    bool has_none = true;
    DIR *folder = opendir(path);
    if (!folder) {
        return false;
    }
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        has_none &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    (void)closedir(folder);
    return has_none;
}

/* Whether the ledger has only its header. */
static bool has_charged_nothing(const struct dpot_filesystem *files)
{
    void *file = NULL;
    uint64_t size = 0;
    if (files->open(files->ctx, "ledger", 0, &file) != DPOT_OK) {
        return false;
    }
    const dpot_status status = files->size(files->ctx, file, &size);
    files->close(files->ctx, file);
    return status == DPOT_OK && size == DPOT_HEADER_LEN;
}

/* The files that prove an install are removed before the ledger: after a crash in between, an
 * install without a ledger would count as exhausted. */
void forget_folder(struct session *s, const struct run *run)
{
    static const char *const names[] = {SETTINGS_NAME, DPOT_CONSENT_NAME, "keys",   DPOT_PAUSE_NAME,
                                        "spool",       DPOT_INSTALL_NAME, "ledger", "lock"};
    char campaign[64], work[64], hex[2 * sizeof s->settings.campaign + 1];
    const struct dpot_filesystem *files = s->files;
    close_client(s);
    if ((!s->is_made && !s->was_empty) || files->lock(files->ctx) != DPOT_OK) {
        return;
    }
    if (has_charged_nothing(files)) {
        dpot_hex_encode(hex, s->settings.campaign, sizeof s->settings.campaign);
        (void)snprintf(campaign, sizeof campaign, "campaign-%s", hex);
        (void)snprintf(work, sizeof work, "work-%s", hex);
        (void)files->remove(files->ctx, campaign);
        (void)files->remove(files->ctx, work);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            (void)files->remove(files->ctx, names[i]);
        }
    }
    files->unlock(files->ctx);
    if (s->is_made) {
        (void)rmdir(option_text(run, "dir")); /* fails unless it is empty */
    }
}

dpot_status create_folder(struct session *s, struct run *run)
{
    const char *dir = option_text(run, "dir");
    struct stat about;
    s->is_made = stat(dir, &about) != 0 && errno == ENOENT;
    s->was_empty = !s->is_made && is_empty(dir);
    const dpot_status status = dpot_filesystem_posix_new(dir, &s->files);
    if (status != DPOT_OK) {
        return RUN_FAIL(run, EXIT_CODE_IO, status, "%s: not a folder that can be written: %s", dir,
                        status == DPOT_ERR_IO ? strerror(errno) : dpot_status_text(status));
    }
    return DPOT_OK;
}

/* A mistyped path must not become an install. */
dpot_status open_folder(struct session *s, struct run *run)
{
    const char *dir = option_text(run, "dir");
    struct stat about;
    if (stat(dir, &about) != 0 && errno == ENOENT) {
        return dpot_error_set(&run->error, DPOT_ERR_NOT_FOUND,
                              "%s: there is no such folder: run dpot-device enroll first", dir);
    }
    return create_folder(s, run);
}

/* The caps are epsilons and deltas, or rhos with zcdp. */
static void set_caps(const struct settings *settings, struct dpot_client_config *config)
{
    config->window_seconds = settings->window_seconds;
    config->accountant = settings->accountant;
    if (settings->accountant == DPOT_ACCOUNTANT_ZCDP) {
        config->campaign_rho_cap = settings->campaign_cap;
        config->window_rho_cap = settings->window_cap;
        config->lifetime_rho_cap = settings->lifetime_cap;
    } else {
        config->campaign_epsilon_cap = settings->campaign_cap;
        config->window_epsilon_cap = settings->window_cap;
        config->lifetime_epsilon_cap = settings->lifetime_cap;
        config->campaign_delta_cap = settings->delta_cap;
        config->window_delta_cap = settings->delta_cap;
        config->lifetime_delta_cap = settings->delta_cap;
    }
}

/* Settings and campaigns are written after the ledger: where they exist without it, the ledger was
 * deleted. The file "install" records that for libdpot, for the lifetime of the folder. */
static void prove_install(const struct session *s)
{
    char campaign[64], hex[2 * sizeof s->settings.campaign + 1];
    bool has_ledger = true, has_install = true, has_settings = false, has_campaign = false;
    dpot_hex_encode(hex, s->settings.campaign, sizeof s->settings.campaign);
    (void)snprintf(campaign, sizeof campaign, "campaign-%s", hex);
    if (dpot_file_exists(s->files, "ledger", &has_ledger) == DPOT_OK && !has_ledger &&
        dpot_file_exists(s->files, "install", &has_install) == DPOT_OK && !has_install &&
        dpot_file_exists(s->files, SETTINGS_NAME, &has_settings) == DPOT_OK &&
        dpot_file_exists(s->files, campaign, &has_campaign) == DPOT_OK &&
        (has_settings || has_campaign)) {
        (void)!dpot_file_replace(s->files, "install", "", 0);
    }
}

dpot_status open_client(struct session *s, struct run *run)
{
    const struct settings *settings = &s->settings;
    struct dpot_client_config config;
    char text[400];
    dpot_client_config_init(&config, sizeof config);
    dpot_status status =
        dpot_transport_curl_new(settings->ca_file[0] ? settings->ca_file : NULL, &s->transport);
    if (status != DPOT_OK) {
        return session_fail_with(run, status, "");
    }
    prove_install(s);
    config.server_url = settings->server;
    memcpy(config.pin, settings->pin, sizeof config.pin);
    set_caps(settings, &config);
    config.group = settings->group_before;
    config.groups = settings->groups;
    config.n_groups = settings->n_groups;
    config.spool_max_bytes = settings->spool_max;
    config.filesystem = s->files;
    s->send_delay_ms = config.send_delay_ms;
    config.transport = s->transport;
    status = dpot_client_open(&config, &s->client, text, sizeof text);
    if (status != DPOT_OK) {
        status = session_fail_with(run, status, text);
    }
    if (status == DPOT_ERR_ARGUMENT) {
        /* The settings were validated: the folder has another accountant or hardware counter. */
        run->forced_exit = EXIT_CODE_PRIVACY;
    }
    return status;
}

dpot_status open_session(struct session *s, struct run *run)
{
    const char *campaign = option_text(run, "campaign");
    dpot_status status = open_folder(s, run);
    if (status == DPOT_OK) {
        status = settings_read(&s->settings, s->files, &run->error);
    }
    if (status == DPOT_OK && campaign &&
        dpot_hex_decode(campaign, s->settings.campaign, sizeof s->settings.campaign) != DPOT_OK) {
        status = RUN_USAGE(run, "--campaign: \"%s\" is not 32 hexadecimal digits", campaign);
    }
    return status == DPOT_OK ? open_client(s, run) : status;
}

void close_client(struct session *s)
{
    dpot_client_close(s->client);
    dpot_transport_curl_free(s->transport);
    s->client = NULL;
    s->transport = NULL;
}

void close_session(struct session *s)
{
    close_client(s);
    dpot_filesystem_posix_free(s->files);
}

void print_outcome(const struct run *run, const struct session *s, const char *outcome,
                   const char *sentence)
{
    char hex[2 * sizeof s->settings.campaign + 1];
    dpot_hex_encode(hex, s->settings.campaign, sizeof s->settings.campaign);
    if (run->is_json) {
        struct object object;
        object_begin(&object, stdout);
        object_text(&object, "outcome", outcome);
        object_text(&object, "campaign", hex);
        object_end(&object);
    } else {
        printf("%s: %s\n", outcome, sentence);
    }
}
