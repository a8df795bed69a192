/* dpot/settings.h - libdpot by texts and numbers, for languages that cannot see a C struct.
 *
 *     status = dpot_settings_new(&settings);
 *     status = dpot_settings_set(settings, "folder", "/var/lib/app/dpot", NULL, 0);
 *     status = dpot_settings_set(settings, "window_seconds", "86400", NULL, 0);
 *     status = dpot_client_open_settings(settings, &client, NULL, 0);
 *     dpot_settings_free(settings);
 *     status = dpot_client_pump_json(client, 10000, text, DPOT_JSON_SIZE);
 *
 * Everything else is in dpot/dpot.h: of its calls leave out those that take a struct. Conventions,
 * statuses and privacy are the same. Missing in a libdpot that was built with DPOT_WITH_POSIX=OFF.
 * Modules for Python and Node that use these calls: doc/bindings. */
#ifndef DPOT_SETTINGS_H
#define DPOT_SETTINGS_H

#include "dpot/dpot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Configuration ---- */
typedef struct dpot_settings dpot_settings;

/* Every default of dpot_client_config_init. On failure *settings is NULL. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_settings_new(dpot_settings **settings);
DPOT_API void dpot_settings_free(dpot_settings *settings); /* wiped; NULL is allowed */

/* Sets `key` to `value`, both copied; the last value of a key counts. Keys:
 *   folder         required: folder of the device's files, made with mode 0700 if missing
 *   ca_file        PEM bundle for the server; "", the default: the system's
 *   pin            64 hexadecimal digits
 *   keystore_key   32 to 128 hexadecimal digits
 *   accountant     basic or zcdp
 *   group.ID       the group in the campaign ID (32 hexadecimal digits): config.groups
 *   server_url and each number of struct dpot_client_config, by the name of its member
 * Numbers are decimal ("0.5", "1e-6", "86400"), whatever the locale.
 * ARGUMENT: an unknown key or a value that it cannot have, which `error_text` (may be NULL) names;
 * nothing was changed. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_settings_set(dpot_settings *settings, const char *key,
                                                        const char *value, char *error_text,
                                                        size_t error_cap);

/* dpot_client_open with POSIX files, libcurl if there is a server_url, and the system clock, all of
 * which dpot_client_close frees. The settings may be freed or changed at once.
 *   IO  folder: not a folder, or not writable */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_open_settings(const dpot_settings *settings,
                                                                dpot_client **client,
                                                                char *error_text, size_t error_cap);

/* ---- Results ----
 * A result as a JSON object on one line, whose keys are the names of the struct's members. Sums
 * that are not defined (DPOT_EPSILON_NONE, DPOT_DELTA_NONE) and times that never come are null;
 * `accountant` is a text, is_... true or false.
 *   ARGUMENT  cap is below DPOT_JSON_SIZE: nothing was done */
#define DPOT_JSON_SIZE 4096 /* bytes of the longest object, with its NUL */

/* struct dpot_client_status */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_status_json(dpot_client *client, char *text,
                                                                  size_t cap);

/* struct dpot_campaign_info, and spent_epsilon, spent_delta and spent_rho of this campaign. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_get_campaign_json(dpot_client *client,
                                                                    const uint8_t campaign_id[16],
                                                                    char *text, size_t cap);

/* dpot_client_pump; struct dpot_pump_result, also after a failure other than ARGUMENT. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_client_pump_json(dpot_client *client,
                                                            uint32_t deadline_ms, char *text,
                                                            size_t cap);

#ifdef __cplusplus
}
#endif

#endif
