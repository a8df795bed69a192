/* device.conf: what `enroll` was told, for the commands that follow. In the device's folder, mode 0600. It
 * holds no secret and no data.
 *
 *     version=2
 *     key=value             lines
 *     checksum=64 digits    BLAKE2b-256 of all lines before
 *
 * The checksum is against damage, not against the owner: a flipped bit must not change a cap or a group. Files
 * of before (no version) have none; they are read, and the next enrollment writes them anew. */
#ifndef DPOT_TOOL_SETTINGS_H
#define DPOT_TOOL_SETTINGS_H

#include "cli/command.h"

#include "dpot/dpot.h"

#define SETTINGS_NAME "device.conf"
#define SETTING_MAX 1100 /* bytes of one value, with its NUL */
#define GROUPS_MAX 256   /* campaigns with a label of their own */

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

    /* The labels of this device, one for each campaign with groups. Files of before have one for all: it is
     * that of the campaigns enrolled under it which have no other. */
    struct dpot_campaign_group groups[GROUPS_MAX]; /* (n_groups) */
    size_t n_groups;
    bool has_group_before;
    uint32_t group_before;
};

/* From the options of `enroll`. A cap that is missing is DPOT_ERR_CAP_UNSET with its option's name, a
 * malformed value a usage error. */
DPOT_WARN_UNUSED dpot_status settings_from_options(struct run *run, struct settings *settings);

/* The label in a campaign. False: nothing says it. */
bool settings_find_group(const struct settings *settings, const uint8_t campaign[16],
                         uint32_t *group);

/* Gives a campaign that has none a label of its own: that of before when it was enrolled under it, else 0.
 * False: there are GROUPS_MAX others. */
bool settings_choose_group(struct settings *settings, const uint8_t campaign[16],
                           bool was_enrolled);

/* Takes over the labels of `before`, but for campaigns that have one in `settings`. False: too many. */
bool settings_keep_groups(struct settings *settings, const struct settings *before);

/* Writes and reads the file in the folder of `files`. DPOT_ERR_NOT_FOUND: there is none;
 * DPOT_ERR_MALFORMED; DPOT_ERR_IO, ... */
DPOT_WARN_UNUSED dpot_status settings_write(const struct settings *settings,
                                            const struct dpot_filesystem *files,
                                            struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status settings_read(struct settings *settings,
                                           const struct dpot_filesystem *files,
                                           struct dpot_error *error);

#endif
