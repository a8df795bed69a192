/* What a field of a text table is: a number, or what may name a column. */
#ifndef DPOT_FILES_CSV_NAMES_H
#define DPOT_FILES_CSV_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum csv_kind {
    CSV_NUMBER,  /* also nan and inf */
    CSV_EMPTY,   /* no text */
    CSV_MISSING, /* a word for a missing or logical value: NA, null, true */
    CSV_NAME,    /* a letter or _, then anything: no number by any reading */
    CSV_OTHER,   /* a digit, a sign, a currency, a bracket, a quote, an invisible character, ... */
    CSV_UNTEXT,  /* not UTF-8, or control characters */
};

/* Total. For CSV_NUMBER *value is the number as number_parse, with errno; else NaN. */
enum csv_kind csv_kind_of(const char *text, double *value);

#define CSV_SHOWN_MAX 80

/* The start of a text in quotes for an error: printable ASCII, other characters as <U+2212>, bytes
 * that are no UTF-8 as ?. */
void csv_show(const char *text, char shown[CSV_SHOWN_MAX]);

#endif
