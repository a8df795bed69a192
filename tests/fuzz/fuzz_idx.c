/* Images and labels in the IDX format; the first byte chooses whether the file is read as
 * compressed. */
#include "files/array.h"
#include "files/idx.h"
#include "fuzz.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct array array = {0};
    struct dpot_error error = {""};
    FILE *stream = len > 1 ? fmemopen((void *)(data + 1), len - 1, "rb") : NULL;
    if (!stream) {
        return 0;
    }
    if (idx_read(stream, len - 1, data[0] % 2 == 1, &array_rules_public, &array, &error) !=
        DPOT_OK) {
        require(error.text[0] != '\0' && !array.values);
    }
    array_release(&array);
    (void)fclose(stream);
    return 0;
}
