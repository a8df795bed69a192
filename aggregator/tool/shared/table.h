/* Prints a JSON result as a table for people. */
#ifndef DPOT_TOOL_SHARED_TABLE_H
#define DPOT_TOOL_SHARED_TABLE_H

#include "json/json.h"

#include <stdio.h>

/* Prints one line per value, "name   value"; members of objects as "outer.inner", long lists as
 * their length. A list of objects beside scalars is printed as a table, one line per object and one
 * column per scalar, followed by the scalars. Numbers have 10 digits; privacy parameters (epsilon,
 * delta, rho, mu) have as many as read back to the same double, so that none looks smaller than it
 * is. 0 and 1 of names that begin with is_ are printed as no and yes. */
void table_print(FILE *stream, const json_t *object);

#endif
