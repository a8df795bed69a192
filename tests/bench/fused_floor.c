#include "fused_floor.h"

#include <string.h>

#define VECTOR_BYTES 64
#define ROWS FLOOR_ROWS /* read together, while the next ones are fetched */

#define REAL float
#define SWEEPS floor_f32
#include "fused_floor.inc"
#undef REAL
#undef SWEEPS

#define REAL double
#define SWEEPS floor_f64
#include "fused_floor.inc"
