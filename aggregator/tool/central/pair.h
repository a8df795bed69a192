/* The two private files of a job that compares them: --x and --y, and the public box of both. */
#ifndef DPOT_TOOL_CENTRAL_PAIR_H
#define DPOT_TOOL_CENTRAL_PAIR_H

#include "files/array.h"
#include "tool/central/region.h"

struct pair {
    struct array x, y; /* (n, dim) and (m, dim), finite */
    struct region region;
};

#define PAIR_OPTIONS                                                                               \
    {"x", "F", "private records (n, d), one a row"},                                               \
        {"y", "F", "private records (m, d), one a row"},                                           \
    {                                                                                              \
        "domain", "SPEC", "the public box of both, as JSON or a file with it"                      \
    }

/* Refuses a command line without the files; touches none. */
DPOT_WARN_UNUSED dpot_status pair_check_options(struct run *run);

/* Reads both and the box. Release it in every case. Exit code 3: what is no finite number, another number of
 * coordinates. */
DPOT_WARN_UNUSED dpot_status pair_load(struct run *run, struct pair *pair);
void pair_release(struct pair *pair);

/* Of a simulation: how many records of both lie outside of the box. */
void pair_tell_outside(const struct run *run, const struct pair *pair);

#endif
