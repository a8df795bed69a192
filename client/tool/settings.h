/* device.conf: what `enroll` was told, for the commands that follow. Lines "key=value", in the
 * device's folder, mode 0600. It holds no secret and no data. */
#ifndef DPOT_TOOL_SETTINGS_H
#define DPOT_TOOL_SETTINGS_H

#include "tool.h"

#define SETTINGS_NAME "device.conf"
#define SETTING_MAX 1100 /* bytes of one value, with its NUL */

struct settings {
    char server[SETTING_MAX];
    char ca_file[SETTING_MAX]; /* "": the system's */
    uint8_t campaign[16];
    uint8_t pin[32];
    uint32_t accountant; /* enum dpot_accountant: what the caps below are in */
    double delta_cap;    /* basic: the delta of every cap */
    double campaign_cap;
    double window_cap;
    uint64_t window_seconds;
    double lifetime_cap;
    uint64_t spool_max; /* bytes of the spool; 0: no cap */
    uint32_t group;     /* the label of this device, in campaigns with groups */
};

/* From the options of `enroll`. A cap that is missing is refused with EXIT_PRIVACY and its option's
 * name, a malformed value with EXIT_USAGE. */
enum exit_code settings_from_options(const struct options *options, struct settings *settings,
                                     struct failure *failure);

/* Writes and reads the file in the folder of `files`. */
enum exit_code settings_write(const struct settings *settings, const struct dpot_filesystem *files,
                              struct failure *failure);
enum exit_code settings_read(struct settings *settings, const struct dpot_filesystem *files,
                             struct failure *failure);

#endif
