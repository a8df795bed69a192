#include "cli/descriptors.h"
#include "support/child.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a process in which the descriptors in the bits of `closed` are closed. Returns 0, or the
 * number of the check that failed. */
static int look(unsigned closed)
{
    char byte = 0;
    for (int i = 0; i < 3; i++) {
        if (closed & 1u << i) {
            (void)close(i);
        }
    }
    dpot_descriptors_hold();
    if (open("/dev/null", O_RDONLY) < 3) {
        return 1;
    }
    if (closed & 1 && !(read(0, &byte, 1) < 0 && errno == EBADF)) {
        return 2;
    }
    for (int i = 1; i < 3; i++) {
        if (closed & 1u << i && !(write(i, &byte, 1) < 0 && errno == EBADF)) {
            return 3;
        }
    }
    return 0;
}

Test(descriptors, those_that_are_closed_are_held_and_fail_as_before)
{
    for (unsigned closed = 0; closed < 8; closed++) {
        int status = 0;
        const pid_t child = child_fork();
        if (child == 0) {
            _exit(look(closed));
        }
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFEXITED(status));
        cr_assert_eq(WEXITSTATUS(status), 0, "closed %u: %d", closed, WEXITSTATUS(status));
    }
}
