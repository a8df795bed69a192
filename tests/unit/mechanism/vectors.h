/* Reads golden vectors: arrays of JSON numbers, decimal strings and C99 hex doubles. */
#ifndef DPOT_TESTS_MECHANISM_VECTORS_H
#define DPOT_TESTS_MECHANISM_VECTORS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* The whole file tests/golden/sampling/<name>; fails the test if it cannot be read. The caller
 * calls json_decref. */
json_t *vectors_load(const char *name);

/* A number, given as a JSON integer or as a decimal string. */
uint64_t vectors_u64(const json_t *value);

/* Arrays of `size` elements; the caller frees them. */
uint64_t *vectors_u64_array(const json_t *array, size_t size);
uint32_t *vectors_u32_array(const json_t *array, size_t size);
double *vectors_double_array(const json_t *array, size_t size);

#endif
