/* Arrays of doubles in files of the test's folder (files/folder.h). */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_TOOL_ARRAYS_H
#define DPOT_TESTS_UNIT_AGGREGATOR_TOOL_ARRAYS_H

#include <stddef.h>

/* A column of several rows is written as a vector. */
void write_array(const char *name, size_t n_rows, size_t n_cols, const double *values);

/* Expects n numbers, of any shape. */
void read_array(const char *name, size_t n, double *values);

#endif
