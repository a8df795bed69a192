#define LANES_BYTES 64
#define LANES_NAME "avx512"
#define LANES_TABLE lanes_avx512
#include "solve/transport/lanes_impl.inc"
