/* Former spellings of options. Scripts rely on them: a row is never removed. */
#ifndef DPOT_TOOL_ALIASES_H
#define DPOT_TOOL_ALIASES_H

#include "cli/command.h"

/* Ends with a row whose `old` is NULL. */
extern const struct option_alias tool_aliases[];

#endif
