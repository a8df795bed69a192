/* Arrays in NumPy's format. */
#include "files/array.h"
#include "files/npy.h"
#include "fuzz.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct array array = {0};
    struct dpot_error error = {""};
    FILE *stream = len > 0 ? fmemopen((void *)data, len, "rb") : NULL;
    if (!stream) {
        return 0;
    }
    if (npy_read(stream, len, &array_rules_public, &array, &error) == DPOT_OK) {
        require(array.n_rows * array.n_cols <= len);
        require(!array.is_vector || array.n_cols == 1);
    } else {
        require(error.text[0] != '\0' && !array.values);
    }
    array_release(&array);
    (void)fclose(stream);
    return 0;
}
