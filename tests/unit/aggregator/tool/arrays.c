#include "arrays.h"

#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <string.h>

void write_array(const char *name, size_t n_rows, size_t n_cols, const double *values)
{
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(array_init(&array, n_rows, n_cols, n_cols == 1 && n_rows > 1), DPOT_OK);
    memcpy(array.values, values, n_rows * n_cols * sizeof *values);
    cr_assert_eq(array_write(folder_path(name), &array, ARRAY_F8, &error), DPOT_OK, "%s",
                 error.text);
    array_release(&array);
}

void read_array(const char *name, size_t n, double *values)
{
    struct array array;
    struct dpot_error error = {""};
    cr_assert_eq(array_read(folder_path(name), &array, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(array.n_rows * array.n_cols, n);
    memcpy(values, array.values, n * sizeof *values);
    array_release(&array);
}
