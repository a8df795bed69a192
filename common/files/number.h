/* Numbers to and from decimal text. */
#ifndef DPOT_FILES_NUMBER_H
#define DPOT_FILES_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_SIZE 32 /* bytes of any number that number_format writes, with the NUL */

/* The shortest decimal of 15 to 17 digits that strtod reads back to the same bits: "39.89", not
 * "39.890000000000001". NaN and the infinities are "nan", "inf" and "-inf". */
void number_format(double value, char out[NUMBER_SIZE]);

/* Whether the whole text is a decimal number, "nan" or "inf" (not hexadecimal). Out of the range of
 * doubles, *value is infinite or nearest to 0 and errno is ERANGE; otherwise errno is 0. */
bool number_parse(const char *text, double *value);

/* The same for finite numbers, without blanks; numbers other than 0 that round to 0 are refused. */
bool number_parse_finite(const char *text, double *value);

/* Whether the whole text is decimal digits of a number up to 2^64 - 1. */
bool number_parse_integer(const char *text, uint64_t *value);

/* Two finite numbers: "24.5,-125". */
bool number_parse_pair(const char *text, double pair[2]);

/* The sides of a grid: "64x48". 1 to n_max integers from 1, whose product is at most `most`. */
bool number_parse_sides(const char *text, size_t n_max, size_t most, size_t *sides, size_t *n);

#endif
