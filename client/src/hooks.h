/* Checks the embedder's hooks before any is called. */
#ifndef DPOT_CLIENT_HOOKS_H
#define DPOT_CLIENT_HOOKS_H

#include "dpot/dpot.h"

/* A sentence about the first hook without a required function or without its struct_size; NULL:
 * none. Hooks that are NULL are not checked here. */
const char *dpot_hooks_find_mistake(const struct dpot_client_config *config);
const char *dpot_hooks_find_filesystem_mistake(const struct dpot_filesystem *filesystem);

#endif
