#include "cli/leave.h"

#include "base/compiler.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void leave(int exit_code)
{
    (void)fflush(NULL);
    if (DPOT_IS_SANITIZED) { /* leaks are looked for in an exit handler */
        exit(exit_code);
    }
    _Exit(exit_code);
}
