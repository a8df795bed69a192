/* Inputs for readers that want a path: files in a private folder that goes with the process. */
#ifndef DPOT_TESTS_FUZZ_INPUT_FILE_H
#define DPOT_TESTS_FUZZ_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The path of `name` in the folder, which is made at the first call; valid until the eighth next one. */
const char *input_path(const char *name);

/* Writes the bytes to `name` (mode 0600) and returns its path. */
const char *input_file(const char *name, const uint8_t *data, size_t len);

void input_remove(const char *name);

/* Cuts an input in two: its first two bytes say (little-endian) how long the first part is. */
struct input_parts {
    const uint8_t *first, *second;
    size_t first_len, second_len;
};
struct input_parts input_split(const uint8_t *data, size_t len);

#endif
