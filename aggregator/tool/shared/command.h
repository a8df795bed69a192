/* A command of dpot: cli/command.h, with a JSON object for its result. */
#ifndef DPOT_TOOL_SHARED_COMMAND_H
#define DPOT_TOOL_SHARED_COMMAND_H

#include "cli/command.h"
#include "json/json.h"

/* Each sets a member of the object in run->result and takes `value` (NULL: out of memory, which is
 * reported when the result is printed). */
void run_put(struct run *run, const char *key, json_t *value);
void run_put_number(struct run *run, const char *key, double value);
void run_put_integer(struct run *run, const char *key, uint64_t value);
void run_put_text(struct run *run, const char *key, const char *value);

#endif
