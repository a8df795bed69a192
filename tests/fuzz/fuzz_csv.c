/* Text tables as dpot reads them and as dpot-device does (private). A device reads every sequence
 * of bytes, its form aside, and every table without comments that dpot reads with these rows. */
#include "files/array.h"
#include "files/csv.h"
#include "fuzz.h"
#include "input_file.h"

#include <stdio.h>
#include <string.h>

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
    const struct array_form form = {.header = array->names ? ARRAY_HEADER_YES : ARRAY_HEADER_NO};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    require(out != NULL);
    csv_write(out, array, ARRAY_F8);
    require(fclose(out) == 0 && len > 0);
    FILE *in = fmemopen(text, len, "rb");
    require(in != NULL && csv_read(in, &array_rules_public, &form, &again, NULL) == DPOT_OK);
    (void)fclose(in);
    free(text);
    require(again.n_rows == array->n_rows && again.n_cols == array->n_cols);
    for (size_t i = 0; i < array->n_rows * array->n_cols; i++) {
        const double a = array->values[i], b = again.values[i];
        require(a == b || (a != a && b != b));
    }
    array_release(&again);
}

static bool is_utf16(const uint8_t *data, size_t len)
{
    return len >= 2 && (memcmp(data, "\xFF\xFE", 2) == 0 || memcmp(data, "\xFE\xFF", 2) == 0);
}

/* The other forms that an option may declare. */
static void read_columns(const char *path)
{
    static const struct array_form forms[] = {
        {.columns = "1,0"},
        {.columns = "lat,lon"},
        {.header = ARRAY_HEADER_YES},
        {.columns = "x", .is_private = true},
        {.columns = ":2", .header = ARRAY_HEADER_NO, .is_private = true},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct array array = {0};
        struct dpot_error error = {""};
        const dpot_status status = array_read_form(path, &forms[i], &array, &error);
        require(status == DPOT_OK || (error.text[0] != '\0' && !array.values));
        require(!forms[i].is_private || status == DPOT_OK || status == DPOT_ERR_ARGUMENT ||
                status == DPOT_ERR_MALFORMED);
        array_wipe(&array);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct array array = {0}, private;
    struct dpot_error error = {""};
    const char *path = input_file("table.csv", data, len);
    const bool is_read = reads(path, &array);
    const dpot_status status = array_read_private(path, &private, &error);
    require(status == DPOT_OK || (error.text[0] != '\0' && !private.values));
    require(status == DPOT_OK || is_utf16(data, len));
    read_columns(path);
    if (is_read) {
        check_again(&array);
        require(status == DPOT_OK);
        require(memchr(data, '#', len) ||
                (private.n_rows >= array.n_rows && /* empty lines and a header */
                 private.n_cols == array.n_cols));
    }
    array_wipe(&private);
    array_release(&array);
    return 0;
}
