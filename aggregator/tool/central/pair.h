/* Two private files to compare, --x and --y, and the public box of both. */
#ifndef DPOT_TOOL_CENTRAL_PAIR_H
#define DPOT_TOOL_CENTRAL_PAIR_H

#include "tool/central/region.h"
#include "tool/shared/load.h"

struct pair {
    struct array x, y; /* (n, dim) and (m, dim), finite */
    struct region region;
};

#define PAIR_OPTIONS                                                                               \
    {"x", "F", "private records (n, d), one a row"},                                               \
        {"y", "F", "private records (m, d), one a row"}, HEADER_OPTION,                            \
    {                                                                                              \
        "domain", "SPEC", "the public box of both, as JSON or a file"                              \
    }

/* Checks that --x and --y are given; reads no file. */
DPOT_WARN_UNUSED dpot_status pair_check_options(struct run *run);

/* Reads both files and the box. Release also after a failure. No value is refused: region_fill.
 * Exit code 3: no records, or different numbers of coordinates. */
DPOT_WARN_UNUSED dpot_status pair_load(struct run *run, struct pair *pair);
void pair_release(struct pair *pair);

/* In a simulation: warns of records of either file outside the box. */
void pair_warn_outside(const struct run *run, const struct pair *pair);

#endif
