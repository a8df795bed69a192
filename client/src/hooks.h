/* The hooks of an embedder, looked at before one is called. */
#ifndef DPOT_CLIENT_HOOKS_H
#define DPOT_CLIENT_HOOKS_H

#include "dpot/dpot.h"

/* The sentence about a hook that lacks a function it must have, or does not say its size; NULL: all are whole.
 * A hook that is NULL is none here: which of them must be there is said elsewhere. */
const char *dpot_hooks_find_mistake(const struct dpot_client_config *config);
const char *dpot_hooks_find_filesystem_mistake(const struct dpot_filesystem *filesystem);

#endif
