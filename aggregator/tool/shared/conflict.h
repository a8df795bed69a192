/* Refuses an output that is also an input or another output of the run: writing it would destroy
 * the other file.
 *
 * Paths are compared by the file they name, through symbolic links, hard links and "./"; a file
 * that does not exist yet by its folder and name. "-", pipes and devices never conflict. Every path
 * F stands for its side file F.json too (json/side_file.h). The files of a run are its operands and
 * the options whose value begins with F or SPEC in --help (F, FILE|ID, F.onnx). */
#ifndef DPOT_TOOL_SHARED_CONFLICT_H
#define DPOT_TOOL_SHARED_CONFLICT_H

#include "tool/shared/command.h"

/* Whether both paths name the same file; true if out of memory. */
bool conflict_is_one_file(const char *a, const char *b);

/* DPOT_ERR_ARGUMENT if the output `path` of option --`name`, or its side file, is another file of
 * the run. Called by option_output. */
DPOT_WARN_UNUSED dpot_status conflict_check(struct run *run, const char *name, const char *path);

/* The same for every file "<folder>/<member>" that the option writes. */
DPOT_WARN_UNUSED dpot_status conflict_check_folder(struct run *run, const char *name,
                                                   const char *folder, const char *const *members,
                                                   size_t n_members);

#endif
