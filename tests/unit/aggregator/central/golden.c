#include "golden.h"

#include <criterion/criterion.h>

json_t *golden_pmm(void)
{
    json_t *root = json_load_file(DPOT_TEST_DATA "/golden/central/pmm.json", 0, NULL);
    cr_assert_not_null(root, "golden/central/pmm.json cannot be read");
    return root;
}

double golden_at(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    cr_assert(json_is_number(value), "entry %zu is no number", i);
    return json_number_value(value);
}
