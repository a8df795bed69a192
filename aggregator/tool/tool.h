/* The whole of `dpot` but main(). */
#ifndef DPOT_TOOL_TOOL_H
#define DPOT_TOOL_TOOL_H

/* Runs the command that the arguments name; returns the exit code. */
int tool_run(int argc, char **argv);

#endif
