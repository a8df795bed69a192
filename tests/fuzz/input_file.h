/* Inputs for readers that take a path: files in a private folder that is removed at exit. */
#ifndef DPOT_TESTS_FUZZ_INPUT_FILE_H
#define DPOT_TESTS_FUZZ_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The path of `name` in the folder, which is created at the first call. Valid for the next seven
 * calls. */
const char *input_path(const char *name);

/* Writes the bytes to `name` (mode 0600) and returns its path. */
const char *input_file(const char *name, const uint8_t *data, size_t len);

void input_remove(const char *name);

/* Splits an input: its first two bytes (little-endian) are the length of the first part. */
struct input_parts {
    const uint8_t *first, *second;
    size_t first_len, second_len;
};
struct input_parts input_split(const uint8_t *data, size_t len);

#endif
