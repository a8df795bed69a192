/* Golden values of accounting (golden/account/README.md). */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_ACCOUNT_GOLDEN_H
#define DPOT_TESTS_UNIT_AGGREGATOR_ACCOUNT_GOLDEN_H

#include <jansson.h>

/* The file golden/account/<name>; release with json_decref. */
json_t *golden_load(const char *name);

/* reference.json, loaded and freed by the two functions below: a suite's .init and .fini. */
extern json_t *golden_reference;
void golden_load_reference(void);
void golden_drop_reference(void);

/* A number of an object; the test fails if it is missing. */
double golden_number(const json_t *object, const char *key);

/* value is in [exact, exact (1 + tolerance)], or in the same interval below, for positive numbers.
 * The exact value is rounded to a double, so a relative deviation of 1e-15 to the wrong side is
 * accepted. */
void expect_just_above(double value, double exact, double tolerance, const char *what);
void expect_just_below(double value, double exact, double tolerance, const char *what);

#endif
