/* The validity of a server's certificates. */
#ifndef DPOT_HTTP_CERTIFICATE_H
#define DPOT_HTTP_CERTIFICATE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* When all certificates of a chain are valid: from the latest notBefore to the earliest notAfter
 * (RFC 5280, 4.1.2.5). Milliseconds since 1970. */
struct certificate_period {
    int64_t not_before_ms, not_after_ms;
};

/* Reads the period of the PEM certificates in (pem, len). DPOT_ERR_ARGUMENT: none can be read. */
DPOT_WARN_UNUSED dpot_status certificate_read_period(const void *pem, size_t len,
                                                     struct certificate_period *period,
                                                     struct dpot_error *error);

#endif
