/* Clocks, and times as RFC 3339 text.
 *
 * All times are milliseconds since 1970-01-01T00:00:00Z (no leap seconds), in an int64_t. */
#ifndef DPOT_BASE_CLOCK_H
#define DPOT_BASE_CLOCK_H

#include "dpot/hooks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPOT_RFC3339_SIZE 21 /* "2026-12-01T00:00:00Z" and its NUL */

/* The machine's wall clock; NULL in a build without DPOT_WITH_POSIX. */
const struct dpot_clock *dpot_clock_system(void);

/* Time since an arbitrary moment of this boot; never decreases, and setting the clock does not
 * change it. */
int64_t dpot_clock_monotonic_ms(void);
int64_t dpot_clock_monotonic_us(void);

/* The same by the hook's monotonic(), if it has one; it must without DPOT_WITH_POSIX. */
int64_t dpot_clock_steady_us(const struct dpot_clock *clock);
bool dpot_clock_is_steady(const struct dpot_clock *clock);

/* Parses "YYYY-MM-DDThh:mm:ssZ" (UTC, no fraction; years 1970 to 9999). DPOT_ERR_MALFORMED:
 * *time_ms is unchanged. */
DPOT_WARN_UNUSED dpot_status dpot_time_parse(const char *text, int64_t *time_ms);

/* Formats a time in that form, rounded down to seconds; a time out of range is clamped. */
void dpot_time_format(int64_t time_ms, char out[DPOT_RFC3339_SIZE]);

#endif
