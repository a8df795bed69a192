/* dpot: the analyst's, researcher's and administrator's tool (aggregator/doc/dpot.1). */
#include "base/descriptors.h"
#include "cli/leave.h"
#include "tool/tool.h"

#include <signal.h>

int main(int argc, char **argv)
{
    dpot_descriptors_hold();
    /* A reader that went away and a file above the limit of its size are failed writes: exit code 6. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    leave(tool_run(argc, argv));
}
