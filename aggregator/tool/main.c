/* dpot: the analyst's, researcher's and administrator's tool (aggregator/doc/dpot.1). */
#include "tool/tool.h"

int main(int argc, char **argv)
{
    program_main(&dpot_program, argc, argv);
}
