#include "tool/shared/save.h"

#include <string.h>

dpot_status save_values(struct run *run, const char *path, const double *values, size_t n_rows,
                        size_t n_cols, bool is_vector)
{
    struct array array;
    if (!path) {
        return DPOT_OK;
    }
    dpot_status status = array_init(&array, n_rows, n_cols, is_vector);
    if (status == DPOT_OK) {
        memcpy(array.values, values, n_rows * n_cols * sizeof *values);
        status = array_write(path, &array, ARRAY_F8, &run->error);
    }
    array_release(&array);
    return status;
}
