/* Versions of a store's schema, and the steps from one to the next (migrations/). */
#ifndef DPOT_STORE_DATABASE_SCHEMA_H
#define DPOT_STORE_DATABASE_SCHEMA_H

#include "store/database.h"

/* From this on reports lie in blocks, before it in commits that have numbers. */
#define SQLITE_VERSION_OF_BLOCKS 5

/* A new file, or one of ours. DPOT_ERR_MALFORMED. */
DPOT_WARN_UNUSED dpot_status schema_check_owner(struct database *database,
                                                struct dpot_error *error);

/* The version that the file has; 0: none yet. */
DPOT_WARN_UNUSED dpot_status schema_find(struct database *database, int64_t *found,
                                         struct dpot_error *error);

/* Makes, in the memory of the connection, what a file of version `found` has not: tables without rows, for
 * the checksums of commits those of what is there, and commits as blocks. Nothing in the file is changed. */
DPOT_WARN_UNUSED dpot_status schema_stand_in(struct database *database, int64_t found,
                                             struct dpot_error *error);

/* DPOT_ERR_VERSION: it is newer than this program or, unless that may be, older. */
DPOT_WARN_UNUSED dpot_status schema_check(int64_t found, bool may_be_older,
                                          struct dpot_error *error);

/* Brings the file up to date; each step is a transaction. `found`: the version before.
 * DPOT_ERR_VERSION: it is newer, and nothing was changed. */
DPOT_WARN_UNUSED dpot_status schema_migrate(struct database *database, int64_t *found,
                                            struct dpot_error *error);

#endif
