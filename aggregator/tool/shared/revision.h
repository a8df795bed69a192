/* Which revision of a campaign a command is about: the option --revision, the query that asks a server for
 * it, and what people are told of the other ones.
 *
 * Without --revision the server chooses: the open one, else the newest closed one, else the newest draft.
 * What it chose is always in its answer and in the command's result. */
#ifndef DPOT_TOOL_SHARED_REVISION_H
#define DPOT_TOOL_SHARED_REVISION_H

#include "tool/shared/remote.h"

#define REVISION_OPTION                                                                            \
    {                                                                                              \
        "revision", "N", "the revision (default: the open one, else the newest closed)"            \
    }

/* *number is 0 when --revision is not given. DPOT_ERR_ARGUMENT. */
DPOT_WARN_UNUSED dpot_status revision_read(struct run *run, uint32_t *number);

/* Appends "?revision=N" to the text in `path` (NUL-terminated, of `cap` bytes); nothing for 0. */
void revision_append(char *path, size_t cap, uint32_t number);

/* The number in an answer; 0 when the server is too old to tell. */
uint32_t revision_of(const json_t *answer);

/* Refuses, with exit code 6, an answer that is not about the revision asked for: an old server takes no
 * number and would give another pool. `number` 0: any answer is right. */
DPOT_WARN_UNUSED dpot_status revision_check(struct remote *remote, const json_t *answer,
                                            uint32_t number);

/* "revision 1 (closed) holds 1,000 reports: --revision 1", of a row of "other_revisions". */
void revision_sentence(const json_t *row, char *out, size_t cap);

/* The answer as people read it: other_revisions as such sentences, and not at all when there are none;
 * revisions as one line each; closed as a sentence. A new reference to a copy, with --json the answer
 * itself; NULL when memory is out. */
json_t *revision_present(const struct run *run, json_t *answer);

#endif
