/* Copies of the store for `dpotd backup`, `restore` and `migrate`. A copy has the content of the
 * store: signed campaigns, reports with their ids, counts, jobs and artifacts; no keys and no
 * tokens. */
#ifndef DPOT_DPOTD_BACKUP_H
#define DPOT_DPOTD_BACKUP_H

#include "dpotd/config.h"
#include "dpotd/service.h"

struct backup_made {
    struct pool_count count; /* of the copy */
    int schema, current;     /* schema versions of the copy and of this program */
};

/* Copies the store, which may be in use, into a new file, and checks the copy like service_check
 * (`options`) before it gets its name. An older schema is kept; backup_restore migrates it. No file
 * is left on failure.
 * DPOT_ERR_NOT_FOUND: there is no store. DPOT_ERR_EXISTS: the file exists. DPOT_ERR_CORRUPT, ...:
 * the copy would have faults, which were reported. DPOT_ERR_VERSION: newer than this program.
 * DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status backup_make(const struct config *config, const char *to,
                                         const struct service_check_options *options,
                                         struct backup_made *made, struct dpot_error *error);

struct backup_restored {
    struct pool_count count;
    char kept[STORE_PATH_SIZE]; /* path of the former store; empty: there was none */
};

/* Checks a copy like service_check (`options`) and replaces the store by it. The file `from` is not
 * changed.
 * DPOT_ERR_CORRUPT: the copy has faults, which were reported. DPOT_ERR_BUSY: the store is in use.
 * DPOT_ERR_IO, DPOT_ERR_NOT_FOUND. */
DPOT_WARN_UNUSED dpot_status backup_restore(const struct config *config, const char *from,
                                            const struct service_check_options *options,
                                            struct backup_restored *restored,
                                            struct dpot_error *error);

/* Removes the copy that an interrupted restore left. To be called by the owner of the store
 * only. */
void backup_sweep(const struct config *config);

struct backup_migrated {
    int from, to; /* schema versions before and after */
    /* path of the unmigrated copy; empty: the store was up to date or empty */
    char copy[STORE_PATH_SIZE];
};

/* Checks a store with an older schema like service_check (`options`), saves a copy next to it and
 * migrates the store.
 * DPOT_ERR_CORRUPT, ...: it has faults, which were reported; nothing was changed.
 * DPOT_ERR_NOT_FOUND, DPOT_ERR_STATE: it is missing. DPOT_ERR_BUSY: it is in use. DPOT_ERR_VERSION:
 * newer than this program. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status backup_migrate(const struct config *config,
                                            const struct service_check_options *options,
                                            struct backup_migrated *migrated,
                                            struct dpot_error *error);

#endif
