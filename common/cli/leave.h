/* How dpotd and dpot end. */
#ifndef DPOT_CLI_LEAVE_H
#define DPOT_CLI_LEAVE_H

/* Ends the process with this code, as the last act of main: everything of ours is closed. What the C library still
 * holds of open streams is written; what was printed for programs has been checked before (command_finish,
 * and flush_stdout of the tool). Exit handlers do not run.
 *
 * They are not ours: OpenBLAS waits in its own for the threads that it made before main, and one that was
 * refused memory asks for it again for ever. Under a small address space (ulimit -v, a container) every
 * command would end its work and never exit. */
_Noreturn void leave(int exit_code);

#endif
