/* Golden values of accounting (golden/account/README.md). */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_ACCOUNT_GOLDEN_H
#define DPOT_TESTS_UNIT_AGGREGATOR_ACCOUNT_GOLDEN_H

#include <jansson.h>

/* The file golden/account/<name>; release with json_decref. */
json_t *golden_load(const char *name);

/* reference.json, between the two: a suite's .init and .fini. */
extern json_t *golden_reference;
void golden_load_reference(void);
void golden_drop_reference(void);

/* A number of an object; fails the test when it is missing. */
double golden_number(const json_t *object, const char *key);

/* value is in [exact, exact (1 + tolerance)], or the same downwards, for positive numbers. The exact
 * one has been rounded to a double, so that a relative 1e-15 on the wrong side counts as equal. */
void expect_just_above(double value, double exact, double tolerance, const char *what);
void expect_just_below(double value, double exact, double tolerance, const char *what);

#endif
