/* Processes that a test starts. One that outlived a failed test would hold the test's output open,
 * and ctest waits for the end of that output; a test waits for one without a limit. */
#ifndef DPOT_TESTS_SUPPORT_CHILD_H
#define DPOT_TESTS_SUPPORT_CHILD_H

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CHILD_MAX_S 600 /* less than ctest's limit: the test that waits says which program it was */

/* fork(); the child, also after exec, is killed when its parent ends, or after CHILD_MAX_S. */
static inline pid_t child_fork(void)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)) {
        _exit(127);
    }
    if (child == 0) {
        (void)alarm(CHILD_MAX_S);
    }
    return child;
}

#endif
