/* Runs the work of a submit under callgrind on data sets that are as different as possible, and
 * writes the instruction counts of each to a file, which steps.sh compares:
 *
 *     valgrind --tool=callgrind --callgrind-out-file=OUT steps
 *
 * Each dump is named "<what> <data set>". */
#include "base/rng_seeded.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "model/places.h"
#include "ot/cost.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#define N_MANY 5000
#define SIDE 6
#define SIZE (SIDE * SIDE)
#define N_MAX 8
#define DIM 16

static struct dpot_campaign campaign;
static struct dpot_rng_seeded seeded;
static double points[2 * N_MANY];

struct data_set {
    const char *name;
    size_t n;
    double x, y;        /* the first place */
    double step;        /* to the next ones */
    double weight;      /* of each */
    int has_directions; /* in all directions instead */
};

static const struct data_set data_sets[] = {
    {"none", 0, 0, 0, 0, 1, 0},
    {"one", 1, 2.2, 3.3, 0, 1, 0},
    {"equal", 20, 2.2, 3.3, 0, 1, 0},
    {"adjacent", 20, .5, .5, .25, 1, 0},
    {"far", 20, 1e300, -INFINITY, 1e299, DBL_MAX, 0},
    {"subnormal", 20, 5e-324, -5e-324, 5e-324, DBL_MIN, 0},
    {"nan", 20, NAN, NAN, NAN, NAN, 0},
    {"many", N_MANY, 0, 0, 0, 1, 1},
};

static void fill(const struct data_set *set, double *weights)
{
    for (size_t i = 0; i < set->n; i++) {
        const double turn = (double)i * 2.4;
        points[2 * i] = set->has_directions ? 3 + 3 * cos(turn) : set->x + (double)i * set->step;
        points[2 * i + 1] = set->has_directions ? 3 + 3 * sin(turn) : set->y;
        weights[i] = set->has_directions ? 1 + (double)(i % 7) : set->weight;
    }
}

static void check(dpot_status status)
{
    if (status != DPOT_OK) {
        (void)fprintf(stderr, "steps: %s\n", dpot_status_text(status));
        exit(1);
    }
}

static void dump(const char *what, const char *set)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s %s", what, set);
    CALLGRIND_DUMP_STATS_AT(name);
}

static void read_and_choose(const struct data_set *set, struct dpot_private_measure *measure)
{
    static double weights[N_MANY];
    double histogram[SIZE] = {0};
    struct dpot_nearest nearest;
    fill(set, weights);
    check(dpot_nearest_init(&nearest, &campaign.domain, &campaign.metric, NULL));
    CALLGRIND_ZERO_STATS;
    dpot_places_read(&nearest, points, weights, set->n, 12345, histogram);
    dpot_private_measure_set(measure, histogram, SIZE);
    dump("reading", set->name);
    dpot_nearest_release(&nearest);
}

static void privatize(const char *what, const char *set, const struct dpot_private_measure *measure)
{
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_rng rng;
    struct dpot_report report = {0};
    check(dpot_privatizer_new(&campaign, NULL, &privatizer, NULL));
    dpot_rng_seeded_init(&seeded, 1, 0);
    dpot_rng_init(&rng, &seeded.source);
    CALLGRIND_ZERO_STATS;
    dpot_privatizer_run(privatizer, measure, &rng, &report);
    dump(what, set);
    dpot_rng_release(&rng);
    dpot_privatizer_free(privatizer);
}

static void make_campaign(void)
{
    double m[SIZE];
    const double lo[] = {0, 0}, hi[] = {SIDE, SIDE};
    const uint32_t shape[] = {SIDE, SIDE};
    campaign = (struct dpot_campaign){.revision = 1,
                                      .name = "steps",
                                      .metric = {DPOT_METRIC_EUCLIDEAN, 0},
                                      .cost_power = 1,
                                      .output_is_domain = true,
                                      .n_max = N_MAX,
                                      .rounds = 1,
                                      .opens_ms = 1000,
                                      .closes_ms = 2000};
    check(dpot_domain_init_grid(&campaign.domain, 2, lo, hi, shape, NULL));
    check(dpot_domain_init_copy(&campaign.output, &campaign.domain));
    check(dpot_epsilon_from_double(2, &campaign.epsilon_q32));
    for (size_t j = 0; j < SIZE; j++) {
        m[j] = 1. / SIZE;
    }
    campaign.base_measure.mass_code = dpot_alloc_array(NULL, SIZE, sizeof(uint32_t));
    check(dpot_base_measure_encode(m, SIZE, campaign.epsilon_q32, &campaign.base_measure, NULL));
}

static void privatize_all(const char *set, const struct dpot_private_measure *measure)
{
    static const struct {
        const char *what;
        enum dpot_mechanism_id id;
        double lambda;
        bool sample_first;
    } kinds[] = {{"wpm", DPOT_MECHANISM_WPM, .5, false},
                 {"wpm-log", DPOT_MECHANISM_WPM, .01, false},
                 {"wpm-sample-first", DPOT_MECHANISM_WPM, .5, true},
                 {"kpm", DPOT_MECHANISM_KPM, 0, false},
                 {"exponential", DPOT_MECHANISM_EXPONENTIAL, 0, false}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        campaign.mechanism = kinds[k].id;
        campaign.lambda = kinds[k].lambda;
        campaign.iterations = kinds[k].lambda > 0 ? 20 : 0;
        campaign.sample_first = kinds[k].sample_first;
        campaign.sensitivity = kinds[k].id == DPOT_MECHANISM_EXPONENTIAL ? 2 * SIDE : 0;
        privatize(kinds[k].what, set, measure);
    }
}

/* The costs from the first place to others, some so near or so far that squares vanish or overflow.
 * Places are points of a list by now: finite. */
static void measure_distances(const struct data_set *set)
{
    static const double others[][2] = {{0, 0},      {2.2, 3.3},     {3e-170, 4e-170}, {1e-160, 0},
                                       {5e-324, 0}, {1e154, 1e154}, {1e308, -1e308},  {.5, .5}};
    const double place[] = {isfinite(set->x) ? set->x : 1e300, isfinite(set->y) ? set->y : -1e300};
    double row[8];
    for (int is_warm = 0; is_warm < 2; is_warm++) { /* the first call binds the C library */
        CALLGRIND_ZERO_STATS;
        for (int id = DPOT_METRIC_EUCLIDEAN; id <= DPOT_METRIC_COSINE; id++) {
            const struct dpot_metric metric = {(enum dpot_metric_id)id, 0};
            dpot_cost_row(&metric, 2, 2, place, others[0], 8, row);
        }
    }
    dump("distances", set->name);
}

/* The same on a sphere, up to the measure of the vectors. */
static void choose_vectors(const struct data_set *set)
{
    static double weights[N_MANY];
    struct dpot_private_points vectors;
    fill(set, weights);
    check(dpot_private_points_init(&vectors, N_MAX, 2, NULL));
    CALLGRIND_ZERO_STATS;
    dpot_private_points_set(&vectors, points, weights, set->n, 12345);
    dump("sphere", set->name);
    dpot_private_points_release(&vectors);
}

/* A vector: the numbers of the data set, repeated. */
static void privatize_vector(const char *what, enum dpot_mechanism_id id,
                             const struct data_set *set)
{
    static double weights[N_MANY];
    int64_t lo = -20, hi = 20, values[DIM];
    struct dpot_campaign vector = {.revision = 1,
                                   .name = "steps",
                                   .mechanism = id,
                                   .rounds = 1,
                                   .opens_ms = 1000,
                                   .closes_ms = 2000};
    vector.vector = (struct dpot_vector_domain){.set = DPOT_VECTOR_BOX,
                                                .dim = DIM,
                                                .n_sides = 1,
                                                .lo = &lo,
                                                .hi = &hi,
                                                .grid_step = 1,
                                                .inverse_step = 1};
    const bool is_laplace = id == DPOT_MECHANISM_LAPLACE;
    vector.epsilon_q32 = is_laplace ? UINT64_C(4) << 32 : 0;
    vector.noise.scale_log2 = is_laplace ? 8 : 12;
    vector.noise.certificate_row = is_laplace ? 0 : 1;
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_private_vector data;
    struct dpot_rng rng;
    struct dpot_report report = {.values = values};
    check(dpot_privatizer_new(&vector, NULL, &privatizer, NULL));
    check(dpot_private_vector_init(&data, DIM, NULL));
    fill(set, weights);
    for (size_t i = 0; i < DIM; i++) {
        data.values[i] = set->n > 0 ? points[i % (2 * set->n)] : 0;
    }
    dpot_rng_seeded_init(&seeded, 1, 0);
    dpot_rng_init(&rng, &seeded.source);
    CALLGRIND_ZERO_STATS;
    dpot_privatizer_run_vector(privatizer, &data, &rng, &report);
    dump(what, set->name);
    dpot_rng_release(&rng);
    dpot_private_vector_release(&data);
    dpot_privatizer_free(privatizer);
}

int main(void)
{
    make_campaign();
    for (size_t i = 0; i < sizeof data_sets / sizeof data_sets[0]; i++) {
        const struct data_set *set = &data_sets[i];
        struct dpot_private_measure measure;
        check(dpot_private_measure_init(&measure, N_MAX, NULL));
        read_and_choose(set, &measure);
        measure_distances(set);
        privatize_all(set->name, &measure);
        dpot_private_measure_release(&measure);
        choose_vectors(set);
        privatize_vector("laplace", DPOT_MECHANISM_LAPLACE, set);
        privatize_vector("gaussian", DPOT_MECHANISM_GAUSSIAN, set);
    }
    return 0;
}
