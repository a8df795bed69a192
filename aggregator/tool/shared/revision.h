/* The revision of a campaign that a command works on: the option --revision, the query for it, and
 * output about other revisions.
 *
 * Without --revision the server chooses: the open one, else the newest closed one, else the newest
 * draft. Its choice is in every answer and in the result of the command. */
#ifndef DPOT_TOOL_SHARED_REVISION_H
#define DPOT_TOOL_SHARED_REVISION_H

#include "tool/shared/remote.h"

#define REVISION_OPTION                                                                            \
    {                                                                                              \
        "revision", "N 1..4294967295",                                                             \
            "the revision (default: the open one, else the newest closed)"                         \
    }

/* Reads --revision; *number is 0 if not given. DPOT_ERR_ARGUMENT. */
DPOT_WARN_UNUSED dpot_status revision_read(struct run *run, uint32_t *number);

/* Appends "?revision=N" to `path`, a string in a buffer of `cap` bytes; nothing for 0. */
void revision_append(char *path, size_t cap, uint32_t number);

/* The revision number in an answer; 0 from a server that is too old to send it. */
uint32_t revision_of(const json_t *answer);

/* Refuses, with exit code 6, an answer about another revision than `number`: an old server ignores
 * the number and returns another pool. `number` 0 accepts any answer. */
DPOT_WARN_UNUSED dpot_status revision_check(struct run *run, const json_t *answer, uint32_t number);

/* Formats a row of "other_revisions": "revision 1 (closed) holds 1,000 reports: --revision 1". */
void revision_sentence(const json_t *row, char *out, size_t cap);

/* The answer in readable form: other_revisions as sentences (left out if there are none), revisions
 * as one line each, closed as a sentence. A new reference to a copy; with --json to the answer
 * itself. NULL: out of memory. */
json_t *revision_present(const struct run *run, json_t *answer);

#endif
