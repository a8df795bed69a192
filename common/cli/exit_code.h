/* What dpot, dpotd and dpot-device exit with: a contract of their manuals. */
#ifndef DPOT_CLI_EXIT_CODE_H
#define DPOT_CLI_EXIT_CODE_H

#include "dpot/status.h"

enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_INTERNAL = 1,  /* a bug, no memory, no randomness */
    EXIT_CODE_USAGE = 2,     /* the command line */
    EXIT_CODE_DATA = 3,      /* bad input data */
    EXIT_CODE_PRIVACY = 4,   /* refused for privacy; access denied */
    EXIT_CODE_STOPPED = 5,   /* a solver stopped before its tolerance; output is written */
    EXIT_CODE_IO = 6,        /* files, network, another process's lock */
    EXIT_CODE_NOT_READY = 7, /* too few reports yet; campaign or round in another state */
};

#define EXIT_CODES_ALL 0xffu /* one bit each */

/* The exit code of a status, for all three programs. */
int exit_code_of(dpot_status status);

#endif
