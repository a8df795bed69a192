/* Lists of a server, which come in pages. */
#ifndef DPOT_TOOL_SHARED_PAGING_H
#define DPOT_TOOL_SHARED_PAGING_H

#include "tool/shared/remote.h"

#define PAGING_LIMIT_MAX 1000000000
#define PAGING_OPTIONS                                                                             \
    {"limit", "N 1..1000000000", "only so many, the newest (default: all, at most a million)"},    \
    {                                                                                              \
        "after", "NEXT", "only those that follow: next of an earlier list with --limit"            \
    }

/* Fetches the rows of the admin list at `path`, page by page, with --limit and --after. The result
 * of the run becomes {key: rows, "next"}: what --after takes for the rows that follow, null if
 * there are none; without --json it is left out then. DPOT_ERR_SERVER: another kind of answer, or
 * pages without an end. */
DPOT_WARN_UNUSED dpot_status paging_list(struct run *run, const char *path,
                                         const struct remote_kind *kind);

#endif
