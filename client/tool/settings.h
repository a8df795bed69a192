/* device.conf: the options of enroll, for the other commands. In the device's folder, mode 0600. It
 * holds neither secrets nor data.
 *
 *     version=2
 *     key=value             lines
 *     checksum=64 digits    BLAKE2b-256 of all lines before
 *
 * The checksum detects damage, not changes by the owner: a flipped bit must not change a cap or a
 * group. Files without a version, of older programs, have no checksum; they are read, and the next
 * enrollment replaces them. */
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
    uint32_t accountant; /* enum dpot_accountant: the unit of the caps below */
    double delta_cap;    /* basic: the delta of every cap */
    double campaign_cap;
    double window_cap;
    uint64_t window_seconds;
    double lifetime_cap;
    uint64_t spool_max; /* bytes of the spool; 0: no cap */

    /* The group of this device in each campaign that has groups. Older files have one group for
     * all: it is that of the campaigns that were enrolled with it and have none of their own. */
    struct dpot_campaign_group groups[GROUPS_MAX]; /* (n_groups) */
    size_t n_groups;
    bool has_group_before;
    uint32_t group_before;
};

/* Reads the options of enroll. DPOT_ERR_CAP_UNSET: a cap is missing; DPOT_ERR_ARGUMENT, ...: a
 * value is malformed. */
DPOT_WARN_UNUSED dpot_status settings_from_options(struct run *run, struct settings *settings);

/* Finds the group in a campaign; false: the settings have none. */
bool settings_find_group(const struct settings *settings, const uint8_t campaign[16],
                         uint32_t *group);

/* Gives a campaign a group of its own unless it has one: the group of older files if it was
 * enrolled with that, else 0. False: there are GROUPS_MAX others. */
bool settings_choose_group(struct settings *settings, const uint8_t campaign[16],
                           bool was_enrolled);

/* Copies the groups of `before`, except for campaigns that have one in `settings`. False: too
 * many. */
bool settings_keep_groups(struct settings *settings, const struct settings *before);

/* Writes and reads the file. DPOT_ERR_NOT_FOUND: there is none; DPOT_ERR_MALFORMED; DPOT_ERR_IO,
 * ... */
DPOT_WARN_UNUSED dpot_status settings_write(const struct settings *settings,
                                            const struct dpot_filesystem *files,
                                            struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status settings_read(struct settings *settings,
                                           const struct dpot_filesystem *files,
                                           struct dpot_error *error);

#endif
