#include "solve/barycenter/kernel.h"

#include "solve/transport/lanes.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define RATIO_MAX 1e15

double barycenter_kernel_exponentials(const double *in, size_t n, double *out)
{
    double lanes[LANES_PAD], largest = LANES_NOTHING;
    memcpy(lanes, in, sizeof lanes);
    for (size_t j = LANES_PAD; j < n; j += LANES_PAD) {
        for (size_t k = 0; k < LANES_PAD; k++) {
            lanes[k] = in[j + k] > lanes[k] ? in[j + k] : lanes[k];
        }
    }
    for (size_t k = 0; k < LANES_PAD; k++) {
        largest = lanes[k] > largest ? lanes[k] : largest;
    }
    lanes_get()->exponentials(n, in, -largest, out);
    return largest;
}

dpot_status barycenter_kernel_check(double lambda, double range, struct dpot_error *error)
{
    if (!(lambda >= DBL_MIN && lambda <= DBL_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "lambda is %g: give at least %.2g, in the units of the cost", lambda,
                              DBL_MIN);
    }
    if (!(range <= DBL_MAX / 4 && range / lambda <= RATIO_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "costs range over %g and lambda is %g: costs are finite and at most "
                              "%g lambda apart: give a larger lambda",
                              range, lambda, RATIO_MAX);
    }
    return DPOT_OK;
}

void barycenter_kernel_free(struct barycenter_kernel *kernel)
{
    if (kernel) {
        kernel->release(kernel);
    }
}
