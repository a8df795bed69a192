/* CSV tables as dpot reads them and as dpot-device does (private), and their column names. A device
 * accepts every table that dpot accepts. */
#include "files/array.h"
#include "files/csv.h"
#include "fuzz.h"
#include "input_file.h"

#include <stdio.h>

static bool reads(const char *path, struct array *array)
{
    struct dpot_error error = {""};
    const dpot_status status = array_read(path, array, &error);
    require(status == DPOT_OK || (error.text[0] != '\0' && !array->values));
    return status == DPOT_OK;
}

/* Written and read again, the numbers are the same. */
static void check_again(const struct array *array)
{
    struct array again = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    require(out != NULL);
    csv_write(out, array, ARRAY_F8);
    require(fclose(out) == 0 && len > 0);
    FILE *in = fmemopen(text, len, "rb");
    require(in != NULL && csv_read(in, &array_rules_public, &again, NULL) == DPOT_OK);
    (void)fclose(in);
    free(text);
    require(again.n_rows == array->n_rows && again.n_cols == array->n_cols);
    for (size_t i = 0; i < array->n_rows * array->n_cols; i++) {
        const double a = array->values[i], b = again.values[i];
        require(a == b || (a != a && b != b));
    }
    array_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct array array = {0}, private;
    struct dpot_error error = {""};
    char names[8][ARRAY_NAME_MAX];
    size_t n = 0;
    const char *path = input_file("table.csv", data, len);
    const bool is_read = reads(path, &array);
    any_status(array_read_names(path, 8, names, &n, NULL));
    require(n <= 8);
    const dpot_status status = array_read_private(path, &private, &error);
    require(status == DPOT_OK || (error.text[0] != '\0' && !private.values));
    if (is_read) {
        check_again(&array);
        require(status == DPOT_OK && private.n_rows == array.n_rows &&
                private.n_cols == array.n_cols);
    }
    array_wipe(&private);
    array_release(&array);
    return 0;
}
