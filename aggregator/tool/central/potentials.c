#include "tool/central/potentials.h"

#include "base/rng_seeded.h"
#include "central/exact_draw.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"

#include <math.h>
#include <string.h>

#define FAMILY_MAX 1000000
#define FAMILY_STREAM 1 /* stream 0 is for the noise of simulations */
#define TWO_PI 6.28318530717958647692

struct family {
    uint64_t size, seed;
    double alpha, width, spread;
};

static dpot_status read_family(struct run *run, struct family *family)
{
    *family = (struct family){.seed = 1, .alpha = 0.005, .width = 0.1, .spread = sqrt(0.1)};
    dpot_status status = option_integer(run, "family", 1, FAMILY_MAX, &family->size);
    if (status == DPOT_OK) {
        status = option_integer(run, "family-seed", 0, UINT64_MAX, &family->seed);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "bump-height", 1e6, &family->alpha);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "bump-width", 1e6, &family->width);
    }
    return status == DPOT_OK ? option_positive(run, "bump-spread", 1e6, &family->spread) : status;
}

dpot_status potentials_check(struct run *run)
{
    static const char *const of_family[] = {"family-seed", "bump-height", "bump-width",
                                            "bump-spread"};
    struct family family;
    dpot_status status = option_either(run, "candidates", "family");
    for (size_t i = 0; status == DPOT_OK && i < 4; i++) {
        status = option_excludes(run, "candidates", of_family[i], "the candidates are given");
    }
    return status == DPOT_OK ? read_family(run, &family) : status;
}

static double normal(struct exact_draw *draw)
{
    const double r = sqrt(-2 * log(1 - exact_draw_unit(draw)));
    return r * cos(TWO_PI * exact_draw_unit(draw));
}

static double bump(const struct semidual_grid *grid, const double *x, const double *centre,
                   double width)
{
    double square = 0;
    for (size_t a = 0; a < grid->dim; a++) {
        square += (x[a] - centre[a]) * (x[a] - centre[a]);
    }
    return exp(-square / (2 * width * width));
}

static void draw_place(const struct semidual_grid *grid, double spread, struct exact_draw *draw,
                       double *place)
{
    for (size_t a = 0; a < grid->dim; a++) {
        place[a] = grid->lo[a] / 2 + grid->hi[a] / 2 + spread * normal(draw);
    }
}

static void fill_potential(const struct semidual_grid *grid, const struct family *family,
                           double alpha, struct exact_draw *draw, double *f)
{
    double places[2][SEMIDUAL_DIM_MAX], x[SEMIDUAL_DIM_MAX];
    draw_place(grid, family->spread, draw, places[0]);
    draw_place(grid, family->spread, draw, places[1]);
    for (size_t c = 0; c < semidual_grid_size(grid); c++) {
        double sum = 0;
        semidual_grid_point(grid, c, x);
        for (size_t a = 0; a < grid->dim; a++) {
            sum += x[a] * x[a] / 2;
        }
        f[c] = sum + alpha * (bump(grid, x, places[0], family->width) -
                              bump(grid, x, places[1], family->width));
    }
}

static dpot_status draw_family(struct run *run, const struct semidual_grid *grid,
                               const struct family *family, struct array *potentials)
{
    const size_t size = semidual_grid_size(grid);
    struct dpot_rng_seeded seeded;
    struct exact_draw draw;
    if (family->size > SEMIDUAL_ENTRIES_MAX / size) {
        return RUN_USAGE(run, "--family %llu on %zu cells is too much: take fewer",
                         (unsigned long long)family->size, size);
    }
    const dpot_status status = array_init(potentials, (size_t)family->size, size, false);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_rng_seeded_init(&seeded, family->seed, FAMILY_STREAM);
    exact_draw_init(&draw, &seeded.source);
    for (size_t i = 0; i < family->size; i++) {
        fill_potential(grid, family, i == 0 ? 0 : family->alpha, &draw,
                       potentials->values + i * size);
    }
    exact_draw_release(&draw);
    return DPOT_OK;
}

static dpot_status load_candidates(struct run *run, size_t size, struct array *potentials)
{
    const dpot_status status = load_finite(run, "candidates", potentials);
    if (status == DPOT_OK && potentials->n_cols != size) {
        const size_t n_cols = potentials->n_cols;
        array_release(potentials);
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--candidates %s has rows of %zu and the grid %zu cells: give the "
                              "value of every candidate in every cell",
                              option_text(run, "candidates"), n_cols, size);
    }
    return status;
}

dpot_status potentials_load(struct run *run, const struct semidual_grid *grid,
                            struct array *potentials)
{
    struct family family;
    if (option_is_given(run, "candidates")) {
        return load_candidates(run, semidual_grid_size(grid), potentials);
    }
    const dpot_status status = read_family(run, &family);
    return status == DPOT_OK ? draw_family(run, grid, &family, potentials) : status;
}
