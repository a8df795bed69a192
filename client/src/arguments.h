/* Wrong arguments, each named in one sentence. */
#ifndef DPOT_CLIENT_ARGUMENTS_H
#define DPOT_CLIENT_ARGUMENTS_H

#include "dpot/dpot.h"

#include <stdbool.h>
#include <stddef.h>

#define DPOT_STRUCT_SIZE_MAX 65536 /* bytes: above it a struct_size was never set */

/* Whether a struct of the caller has members that this library does not know and that are set.
 * `known` is its size here. They may be caps, so such a struct is refused. */
bool dpot_struct_has_unknown(const void *data, size_t struct_size, size_t known);

/* Sets the sentence of the client's last error. Returns DPOT_ERR_ARGUMENT; `client` may be NULL. */
DPOT_WARN_UNUSED dpot_status dpot_client_refuse(dpot_client *client, const char *sentence);

/* The same for a pointer that must not be NULL; DPOT_OK if it is none. */
DPOT_WARN_UNUSED dpot_status dpot_client_require(dpot_client *client, const void *pointer,
                                                 const char *name);

/* Checks a struct that dpot fills, whose first member is its struct_size. Members beyond `known`
 * become 0. */
DPOT_WARN_UNUSED dpot_status dpot_client_check_filled(dpot_client *client, void *data, size_t known,
                                                      const char *name);

#endif
