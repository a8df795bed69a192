/* Wrong arguments, each named in one sentence. */
#ifndef DPOT_CLIENT_ARGUMENTS_H
#define DPOT_CLIENT_ARGUMENTS_H

#include "base/error.h"
#include "dpot/dpot.h"

#include <stddef.h>

#define DPOT_STRUCT_SIZE_MAX 65536 /* bytes: above it a struct_size was never set */

/* Checks a struct that dpot reads, whose first member is its struct_size: at least `least`, and all
 * bytes beyond `known`, its size here, are 0: one of those members may be a cap. */
DPOT_WARN_UNUSED dpot_status dpot_struct_check(const void *data, size_t least, size_t known,
                                               const char *name, struct dpot_error *error);

/* DPOT_ERR_ARGUMENT, with a sentence, for a pointer that is NULL. `client` may be NULL too. */
DPOT_WARN_UNUSED dpot_status dpot_client_require(dpot_client *client, const void *pointer,
                                                 const char *name);

/* Checks a struct that dpot fills, whose first member is its struct_size. Members beyond `known`
 * become 0. */
DPOT_WARN_UNUSED dpot_status dpot_client_check_filled(dpot_client *client, void *data, size_t known,
                                                      const char *name);

#endif
