#include "golden.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#define DOUBLE_SLACK 1e-15 /* the reference is rounded to a double */

json_t *golden_load(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/golden/account/%s", DPOT_TEST_DATA, name);
    json_t *root = json_load_file(path, 0, NULL);
    cr_assert_not_null(root, "cannot read %s", path);
    return root;
}

json_t *golden_reference;

void golden_load_reference(void)
{
    golden_reference = golden_load("reference.json");
}

void golden_drop_reference(void)
{
    json_decref(golden_reference);
}

double golden_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "%s is missing", key);
    return json_number_value(value);
}

void expect_just_above(double value, double exact, double tolerance, const char *what)
{
    cr_assert(value >= exact * (1 - DOUBLE_SLACK) && value <= exact * (1 + tolerance),
              "%s is %.17g, exact %.17g (off by %.3g)", what, value, exact, value / exact - 1);
}

void expect_just_below(double value, double exact, double tolerance, const char *what)
{
    cr_assert(value <= exact * (1 + DOUBLE_SLACK) && value >= exact * (1 - tolerance),
              "%s is %.17g, exact %.17g (off by %.3g)", what, value, exact, value / exact - 1);
}
