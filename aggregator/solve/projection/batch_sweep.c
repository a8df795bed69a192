#include "solve/projection/batch_parts.h"

#include <float.h>
#include <math.h>

#define SEARCH_STEPS 100
#define SEARCH_STRIDE 1024.0

/* A sum below this has lost terms to underflow; the one before it was in [1e-30, 1e30] (float32),
 * so that products of a scaling, a kernel and a mass stay inside the type. */
#define REAL float
#define TYPE f32
#define LINALG dpot_linalg_f32_openblas()
#define SLACK (4.0 * (double)FLT_EPSILON)
#define LEAST_SUM 1e-30
#define MEMBER f32
#include "solve/projection/batch_sweep.inc"
#undef REAL
#undef TYPE
#undef LINALG
#undef SLACK
#undef LEAST_SUM
#undef MEMBER

#define REAL double
#define TYPE f64
#define LINALG dpot_linalg_openblas()
#define SLACK (4.0 * DBL_EPSILON)
#define LEAST_SUM 1e-280
#define MEMBER f64
#include "solve/projection/batch_sweep.inc"
