/* dpot: the analyst's, researcher's and administrator's tool (aggregator/doc/dpot.1). */
#include "tool/tool.h"

#include <signal.h>

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a reader that went away is a failed write: exit code 6 */
    return tool_run(argc, argv);
}
