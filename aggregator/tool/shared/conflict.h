/* An output must not be an input: the file that a run reads would be gone, with exit code 0.
 *
 * Names are compared by the file that they mean: links, hard links and "./" are seen through; a file that
 * is not there yet is its name in its folder. "-", pipes and devices are nobody's file. To every name
 * F belongs its side file F.json (json/side_file.h). What counts as a file of the run: each option
 * whose value begins with F or SPEC in --help (F, FILE|ID, F.onnx), outputs among them, and the operands. */
#ifndef DPOT_TOOL_SHARED_CONFLICT_H
#define DPOT_TOOL_SHARED_CONFLICT_H

#include "tool/shared/command.h"

/* Do both paths mean one file? Without memory to tell: true. */
bool conflict_is_one_file(const char *a, const char *b);

/* Refuses (exit code 2) the output `path` of option --`name` when it or its side file is another file
 * of the run. Called by option_output. */
DPOT_WARN_UNUSED dpot_status conflict_check(struct run *run, const char *name, const char *path);

/* The same for every file "<folder>/<member>" that the option makes. */
DPOT_WARN_UNUSED dpot_status conflict_check_folder(struct run *run, const char *name,
                                                   const char *folder, const char *const *members,
                                                   size_t n_members);

#endif
