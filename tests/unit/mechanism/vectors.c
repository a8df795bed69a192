#include "unit/mechanism/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

json_t *vectors_load(const char *name)
{
    char path[1024];
    json_error_t error;
    (void)snprintf(path, sizeof path, "%s/golden/sampling/%s", DPOT_TEST_DATA, name);
    json_t *root = json_load_file(path, 0, &error);
    cr_assert_not_null(root, "%s: %s", path, error.text);
    return root;
}

uint64_t vectors_u64(const json_t *value)
{
    if (json_is_integer(value)) {
        return (uint64_t)json_integer_value(value);
    }
    cr_assert(json_is_string(value));
    char *end = NULL;
    const uint64_t number = strtoull(json_string_value(value), &end, 10);
    cr_assert_eq(*end, '\0');
    return number;
}

static void *allocate(const json_t *array, size_t size, size_t element)
{
    cr_assert_eq(json_array_size(array), size);
    void *memory = calloc(size > 0 ? size : 1, element);
    cr_assert_not_null(memory);
    return memory;
}

uint64_t *vectors_u64_array(const json_t *array, size_t size)
{
    uint64_t *numbers = allocate(array, size, sizeof *numbers);
    for (size_t i = 0; i < size; i++) {
        numbers[i] = vectors_u64(json_array_get(array, i));
    }
    return numbers;
}

uint32_t *vectors_u32_array(const json_t *array, size_t size)
{
    uint32_t *numbers = allocate(array, size, sizeof *numbers);
    for (size_t i = 0; i < size; i++) {
        numbers[i] = (uint32_t)vectors_u64(json_array_get(array, i));
    }
    return numbers;
}

double *vectors_double_array(const json_t *array, size_t size)
{
    double *numbers = allocate(array, size, sizeof *numbers);
    for (size_t i = 0; i < size; i++) {
        char *end = NULL;
        numbers[i] = strtod(json_string_value(json_array_get(array, i)), &end);
        cr_assert_eq(*end, '\0');
    }
    return numbers;
}
