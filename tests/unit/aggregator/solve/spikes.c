/* See the header. */
#include "spikes.h"

#include "base/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>

static uint64_t state;
double pool[N_MAX * DIM_MAX], support[1000 * DIM_MAX];
double lo[DIM_MAX], hi[DIM_MAX];

void seed(uint64_t value)
{
    state = value;
}

static double uniform(void)
{
    return splitmix_unit(&state) + 0x1p-54;
}

double draw(enum dpot_noise noise, double scale)
{
    const double u = uniform();
    if (noise == DPOT_NOISE_GAUSSIAN) {
        return scale * sqrt(-2 * log(u)) * cos(2 * acos(-1) * uniform());
    }
    return u < 0.5 ? scale * log(2 * u) : -scale * log(2 - 2 * u);
}

struct deconvolve_config make(const struct dpot_noise_density *density, size_t n, size_t dim,
                              double side)
{
    for (size_t j = 0; j < dim; j++) {
        lo[j] = -side;
        hi[j] = side;
    }
    return (struct deconvolve_config){
        .density = density,
        .n = n,
        .dim = dim,
        .pool = pool,
        .domain = {.lo = lo, .hi = hi},
        .support = support,
        .min_iterations = DECONVOLVE_MIN_ITERATIONS,
        .max_iterations = 2000,
        .tol = DECONVOLVE_TOL,
        .linalg = dpot_linalg_openblas(),
    };
}

struct dpot_noise_density density_of(enum dpot_noise noise, double scale)
{
    struct dpot_noise_density density;
    cr_assert_eq(dpot_noise_density_init(&density, noise, scale, 0, NULL), DPOT_OK);
    return density;
}

struct deconvolve *solve(const struct deconvolve_config *config, struct deconvolve_result *result)
{
    struct deconvolve *solver = NULL;
    struct dpot_error error = {""};
    cr_assert_eq(deconvolve_new(config, &solver, &error), DPOT_OK, "%s", error.text);
    deconvolve_run(solver, NULL, result);
    return solver;
}

void draw_spikes(enum dpot_noise noise, double scale, size_t n, size_t dim)
{
    seed(7);
    for (size_t i = 0; i < n; i++) {
        const double at = i % 10 < 3 ? -1 : 1;
        for (size_t j = 0; j < dim; j++) {
            pool[i * dim + j] = at + draw(noise, scale);
        }
    }
}
