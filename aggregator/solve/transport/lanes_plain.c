#define LANES_BYTES 16
#define LANES_NAME "plain"
#define LANES_TABLE lanes_plain
#include "solve/transport/lanes_impl.inc"
