/* Decimal numbers from and to text, with a point in every locale. */
#ifndef DPOT_CLIENT_SETTINGS_DECIMAL_H
#define DPOT_CLIENT_SETTINGS_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPOT_DECIMAL_SIZE 32 /* bytes of any number that is written, with the NUL */

/* Whether the whole text is a finite decimal number ("0.5", "-1e-6", not "0x1" or "inf"), which
 * does not round to 0 unless it is 0. On false *value is unchanged. */
bool dpot_decimal_parse(const char *text, double *value);

/* Whether the whole text is the digits of a number up to `most`. On false *value is unchanged. */
bool dpot_decimal_parse_integer(const char *text, uint64_t most, uint64_t *value);

/* The shortest decimal that reads back as the same double, which is finite. */
void dpot_decimal_format(double value, char out[DPOT_DECIMAL_SIZE]);

#endif
