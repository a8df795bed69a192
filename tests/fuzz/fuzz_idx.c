/* Images and labels in the IDX format. An odd first byte: a file, which may be packed. */
#include "files/idx.h"
#include "fuzz.h"
#include "input_file.h"

#include <stdio.h>

static dpot_status read_stream(const uint8_t *data, size_t len, struct array *array,
                               struct dpot_error *error)
{
    FILE *stream = fmemopen((void *)data, len, "rb");
    require(stream != NULL);
    const dpot_status status = idx_read(stream, len, &array_rules_public, array, error);
    (void)fclose(stream);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct array array = {0};
    struct dpot_error error = {""};
    if (len < 2) {
        return 0;
    }
    const dpot_status status =
        data[0] % 2 == 0 ? read_stream(data + 1, len - 1, &array, &error)
                         : array_read(input_file("a.idx", data + 1, len - 1), &array, &error);
    require(status == DPOT_OK || (error.text[0] != '\0' && !array.values));
    array_release(&array);
    return 0;
}
