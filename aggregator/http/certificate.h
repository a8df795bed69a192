/* When a server's certificates are good. */
#ifndef DPOT_HTTP_CERTIFICATE_H
#define DPOT_HTTP_CERTIFICATE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* All certificates of a chain together: from the latest beginning to the earliest end (RFC 5280, 4.1.2.5).
 * Milliseconds since 1970. */
struct certificate_period {
    int64_t not_before_ms, not_after_ms;
};

/* (pem, len): one certificate or more. DPOT_ERR_ARGUMENT: it holds none that can be read. */
DPOT_WARN_UNUSED dpot_status certificate_read_period(const void *pem, size_t len,
                                                     struct certificate_period *period,
                                                     struct dpot_error *error);

#endif
