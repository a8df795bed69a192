/* Archives of arrays, and every other file by its content, as dpot reads them and as dpot-device
 * does (private), with and without a choice. A device accepts every binary array that dpot accepts,
 * and its refusals show no byte of the file. */
#include "files/array.h"
#include "files/npz.h"
#include "fuzz.h"
#include "input_file.h"

#include <stdio.h>
#include <string.h>

static dpot_status read_as(const char *path, bool is_private, struct array *array)
{
    const struct array_form form = {.is_private = is_private};
    struct dpot_error error = {""};
    const dpot_status status = array_read_form(path, &form, array, &error);
    require(status == DPOT_OK || (error.text[0] != '\0' && !array->values));
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct array array, private, chosen;
    char choice[700];
    const char *path = input_file("a.npz", data, len);
    const dpot_status status = read_as(path, false, &array);
    const dpot_status private_status = read_as(path, true, &private);
    (void)snprintf(choice, sizeof choice, "%s:x", path);
    any_status(read_as(choice, false, &chosen));
    if (status == DPOT_OK && npz_has_start(data, len)) {
        require(private_status == DPOT_OK && private.n_rows == array.n_rows &&
                private.n_cols == array.n_cols);
    }
    array_wipe(&private);
    array_release(&array);
    array_release(&chosen);
    return 0;
}
