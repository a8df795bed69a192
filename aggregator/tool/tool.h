/* The whole of dpot but main(). */
#ifndef DPOT_TOOL_TOOL_H
#define DPOT_TOOL_TOOL_H

#include "cli/program.h"

extern const struct program dpot_program;

#endif
