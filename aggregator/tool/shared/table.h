/* Results for people: the same JSON as a short table. */
#ifndef DPOT_TOOL_SHARED_TABLE_H
#define DPOT_TOOL_SHARED_TABLE_H

#include "json/json.h"

#include <stdio.h>

/* One line a value, "name   value"; members of objects as "outer.inner"; long lists as their
 * length. A list of objects beside scalars is a table with one line an object and a column for each of
 * its scalars; the scalars follow it. Numbers have 10 digits, those of privacy (epsilon, delta, rho, mu) as many as
 * give them back, so that none is shown smaller than it is; 0 and 1 of a name that begins with is_ are
 * no and yes. */
void table_print(FILE *stream, const json_t *object);

#endif
