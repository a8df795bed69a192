/* Copies of the store for `dpotd backup`, `restore` and `migrate`. A copy holds what the store holds:
 * signed campaigns, reports with their ids, counts, jobs and artifacts; no key and no token. */
#ifndef DPOT_DPOTD_BACKUP_H
#define DPOT_DPOTD_BACKUP_H

#include "dpotd/config.h"
#include "dpotd/service.h"

struct backup_made {
    struct pool_count count; /* of what the copy holds */
    int schema, current;     /* versions of its schema, and of this program's */
};

/* Copies the store into a new file, also while it is served, and reads the copy as service_check does (`look`)
 * before it gets its name. One with an older schema stays so: backup_restore brings it up to date.
 * DPOT_ERR_NOT_FOUND: there is no store; DPOT_ERR_EXISTS: the file is there; DPOT_ERR_CORRUPT, ...: the copy
 * would have faults, which were told; DPOT_ERR_VERSION (newer than this program), DPOT_ERR_IO. Then there is
 * none. */
DPOT_WARN_UNUSED dpot_status backup_make(const struct config *config, const char *to,
                                         const struct service_look *look, struct backup_made *made,
                                         struct dpot_error *error);

struct backup_restored {
    struct pool_count count;
    char kept[STORE_PATH_SIZE]; /* the former store; empty: there was none */
};

/* Checks a copy (`look`, as service_check does of a store) and puts it in the place of the store. `from`
 * stays as it is. DPOT_ERR_CORRUPT: the copy has faults, which were told; DPOT_ERR_BUSY: the store is
 * served; DPOT_ERR_IO, DPOT_ERR_NOT_FOUND. */
DPOT_WARN_UNUSED dpot_status backup_restore(const struct config *config, const char *from,
                                            const struct service_look *look,
                                            struct backup_restored *restored,
                                            struct dpot_error *error);

/* Removes the copy that a restore which was cut off had not yet put in place. Only for the store's
 * owner. */
void backup_sweep(const struct config *config);

struct backup_migrated {
    int from, to;               /* versions of the schema before and after */
    char copy[STORE_PATH_SIZE]; /* of the store as it was; empty: it was up to date, or empty */
};

/* Checks a store with an older schema (`look`, as service_check does), saves a copy of it beside it and brings the
 * store up to date. DPOT_ERR_CORRUPT, ...: it has faults, which were told, and nothing was changed;
 * DPOT_ERR_NOT_FOUND, DPOT_ERR_STATE (it is missing), DPOT_ERR_BUSY (it is served), DPOT_ERR_VERSION
 * (newer than this program), DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status backup_migrate(const struct config *config,
                                            const struct service_look *look,
                                            struct backup_migrated *migrated,
                                            struct dpot_error *error);

#endif
