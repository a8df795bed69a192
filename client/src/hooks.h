/* Checks the embedder's hooks before any is called. */
#ifndef DPOT_CLIENT_HOOKS_H
#define DPOT_CLIENT_HOOKS_H

#include "base/error.h"
#include "dpot/dpot.h"

/* DPOT_ERR_ARGUMENT names the first hook without a required function or without its struct_size.
 * Hooks that are NULL are not checked here. */
DPOT_WARN_UNUSED dpot_status dpot_hooks_check(const struct dpot_client_config *config,
                                              struct dpot_error *error);

/* The same of one hook, called `name`. */
DPOT_WARN_UNUSED dpot_status dpot_hooks_check_filesystem(const struct dpot_filesystem *filesystem,
                                                         const char *name,
                                                         struct dpot_error *error);

#endif
