#define LANES_BYTES 32
#define LANES_NAME "avx2"
#define LANES_TABLE lanes_avx2
#include "solve/transport/lanes_impl.inc"
