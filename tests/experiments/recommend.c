/* Private recommendation of a movie (002, section 5.2), for recommend.sh.
 *
 *   recommend RATINGS.csv MOVIES.csv CANDIDATES SPLITS EPSILON...
 *
 * RATINGS has lines user,movie,rating,time and MOVIES lines movie,title,genres (a|b|c), each below
 * a header, as in MovieLens. For every split (a seed): a fifth of the users are test users, a fifth
 * of the movies can be recommended; the candidates are those that validation users have rated most
 * often. A user's measure is proportional to the ratings of the other movies. Movies are embedded
 * by the 64 first principal components of the centred ratings of the validation users, which are
 * public data here, and the cost is their cosine distance.
 *
 * A hit: the movie that comes out is one that the user has rated 4 or better. Hit rates are
 * expectations over the mechanism's draw, computed from its law; means over the test users of all
 * splits with their standard error. Base measures are uniform, with the total mass that does best
 * on the validation users; that of "WPM popular" is in proportion to a power of the validation
 * users' likes, which is chosen in the same way.
 *
 * Prints CSV: epsilon,method,hit rate,standard error. "one for all" is the candidate that most
 * validation users like, said to everybody (epsilon 0), "uniform" any candidate, "not private" the
 * candidate nearest to a movie drawn from the user's measure: the projection where everything is
 * allowed. */
#include "recommend_data.h"

#include "mechanism/baselines.h"
#include "ot/projection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAMBDA 0.01
#define N_SWEEPS 40
#define N_MASSES 7
#define LIKED 4.0

/* ---- mechanisms ---- */

/* One user: rated inputs, and which candidates are hits. */
struct user {
    size_t n;
    size_t *rows; /* (n) of the cost */
    double *mu;   /* (n) sum one */
    const double *ratings;
};

static void take_user(const struct data *data, const struct split *split, size_t u,
                      struct user *user)
{
    double sum = 0;
    user->n = 0;
    user->ratings = data->ratings + u * data->n_movies;
    for (size_t i = 0; i < split->n_inputs; i++) {
        const double rating = user->ratings[split->inputs[i]];
        if (rating > 0) {
            user->rows[user->n] = i;
            user->mu[user->n++] = rating;
            sum += rating;
        }
    }
    for (size_t i = 0; i < user->n; i++) {
        user->mu[i] /= sum;
    }
}

static int is_hit(const struct split *split, const struct user *user, size_t j)
{
    return user->ratings[split->candidates[j]] >= LIKED;
}

static double hit_rate(const struct split *split, const struct user *user, const double *q)
{
    double sum = 0;
    for (size_t j = 0; j < split->n_candidates; j++) {
        sum += is_hit(split, user, j) ? q[j] : 0;
    }
    return sum;
}

/* alpha m and beta m for a base measure in proportion to `shape` (NULL: uniform). */
static void fill_bounds(size_t n, double epsilon, double total, const double *shape, double *lower,
                        double *upper)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
        sum += shape ? shape[j] : 1;
    }
    for (size_t j = 0; j < n; j++) {
        const double m = total * (shape ? shape[j] : 1) / sum;
        lower[j] = exp(-epsilon / 2) * m;
        upper[j] = exp(epsilon / 2) * m;
    }
}

static void law_wpm(const struct split *split, const struct user *user, double epsilon,
                    double total, const double *shape, double *q)
{
    const size_t k = split->n_candidates;
    double *bounds = memory(2 * k, sizeof *bounds);
    const struct dpot_polytope polytope = {k, bounds, bounds + k};
    const struct dpot_projection_config config = {
        .n_rows = user->n, .n_cols = k, .lambda = LAMBDA, .cost_range = 2, .polytope = &polytope};
    struct dpot_projection *projection = NULL;
    fill_bounds(k, epsilon, total, shape, bounds, bounds + k);
    require(dpot_projection_new(&config, &projection) == DPOT_OK, "a projection was refused");
    for (size_t i = 0; i < user->n; i++) {
        memcpy(dpot_projection_cost(projection) + i * k, split->cost + user->rows[i] * k,
               k * sizeof *q);
    }
    dpot_projection_run(projection, user->mu, N_SWEEPS, 0, q, NULL);
    dpot_projection_free(projection);
    free(bounds);
}

/* KPM over the genres, then any candidate of the genre; of a genre without candidates, any at
 * all. */
static void law_kpm(const struct data *data, const struct split *split, const struct user *user,
                    double epsilon, double total, double *q)
{
    const size_t n = data->names.n, k = split->n_candidates;
    double genres[GENRES_MAX] = {0}, lower[GENRES_MAX], upper[GENRES_MAX], law[GENRES_MAX];
    const struct dpot_polytope polytope = {n, lower, upper};
    fill_bounds(n, epsilon, total, NULL, lower, upper);
    for (size_t i = 0; i < user->n; i++) {
        const uint64_t bits = data->genres[split->inputs[user->rows[i]]];
        const int n_bits = __builtin_popcountll(bits);
        for (size_t g = 0; g < n; g++) {
            genres[g] += bits >> g & 1 ? user->mu[i] / n_bits : 0;
        }
    }
    (void)dpot_polytope_project_kl_linear(&polytope, genres, 1, DPOT_STEPS_NEEDED, law);
    memset(q, 0, k * sizeof *q);
    for (size_t g = 0; g < n; g++) {
        size_t n_of = 0;
        for (size_t j = 0; j < k; j++) {
            n_of += data->genres[split->candidates[j]] >> g & 1;
        }
        for (size_t j = 0; j < k; j++) {
            const int belongs = n_of == 0 || (data->genres[split->candidates[j]] >> g & 1);
            q[j] += belongs ? law[g] / (double)(n_of > 0 ? n_of : k) : 0;
        }
    }
}

static void mean_costs(const struct split *split, const struct user *user, double *q)
{
    memset(q, 0, split->n_candidates * sizeof *q);
    for (size_t i = 0; i < user->n; i++) {
        for (size_t j = 0; j < split->n_candidates; j++) {
            q[j] += user->mu[i] * split->cost[user->rows[i] * split->n_candidates + j];
        }
    }
}

static void law_exponential(const struct split *split, const struct user *user, double epsilon,
                            double *q)
{
    mean_costs(split, user, q);
    dpot_exponential_law(epsilon / (2 * split->sensitivity), q, split->n_candidates);
}

enum method { WPM, WPM_POPULAR, KPM, EXPONENTIAL, ONE_FOR_ALL, UNIFORM, NEAREST, N_METHODS };
static const char *const method_names[N_METHODS] = {
    "WPM", "WPM popular", "genre KPM", "exponential", "one for all", "uniform", "not private"};

/* ---- users ---- */

struct tally {
    double sum, squares, n;
};

struct trial {
    const struct data *data;
    const struct split *split;
    enum method method;
    double epsilon, total;
    double *shape; /* (n_candidates) of the base measure; NULL: uniform */
    size_t popular;
    size_t users_max; /* of the users that are evaluated */
};

static size_t nearest(const struct split *split, size_t row)
{
    const double *cost = split->cost + row * split->n_candidates;
    size_t best = 0;
    for (size_t j = 1; j < split->n_candidates; j++) {
        best = cost[j] < cost[best] ? j : best;
    }
    return best;
}

static void find_law(const struct trial *t, const struct user *user, double *q)
{
    const size_t k = t->split->n_candidates;
    if (t->method == WPM) {
        law_wpm(t->split, user, t->epsilon, t->total, NULL, q);
    } else if (t->method == WPM_POPULAR) {
        law_wpm(t->split, user, t->epsilon, t->total, t->shape, q);
    } else if (t->method == KPM) {
        law_kpm(t->data, t->split, user, t->epsilon, t->total, q);
    } else if (t->method == EXPONENTIAL) {
        law_exponential(t->split, user, t->epsilon, q);
    } else {
        memset(q, 0, k * sizeof *q);
        for (size_t i = 0; t->method == NEAREST && i < user->n; i++) {
            q[nearest(t->split, user->rows[i])] += user->mu[i];
        }
        for (size_t j = 0; t->method != NEAREST && j < k; j++) {
            q[j] = t->method == UNIFORM ? 1 / (double)k : j == t->popular;
        }
    }
}

/* Users of one kind; those without a rated input movie have no measure and are left out. */
static void try_users(const struct trial *t, int is_test, struct tally *tally)
{
    const size_t n = t->split->n_inputs;
    struct user user = {.rows = memory(n, sizeof(size_t)), .mu = memory(n, sizeof(double))};
    double *q = memory(t->split->n_candidates, sizeof *q);
    for (size_t u = 0; u < t->data->n_users; u++) {
        if (t->split->is_test_user[u] != is_test || tally->n >= (double)t->users_max) {
            continue;
        }
        take_user(t->data, t->split, u, &user);
        if (user.n > 0) {
            find_law(t, &user, q);
            const double rate = hit_rate(t->split, &user, q);
            tally->sum += rate;
            tally->squares += rate * rate;
            tally->n++;
        }
    }
    free(user.rows);
    free(user.mu);
    free(q);
}

static size_t n_likes(const struct data *data, const struct split *split, size_t j)
{
    size_t n = 0;
    for (size_t u = 0; u < data->n_users; u++) {
        n += !split->is_test_user[u] &&
             data->ratings[u * data->n_movies + split->candidates[j]] >= LIKED;
    }
    return n;
}

/* The total mass with the best hit rate on validation users, and that rate. */
static double choose_total(struct trial *t, size_t n_masses)
{
    double best = -1, best_total = 1;
    for (size_t s = 0; s < n_masses; s++) {
        struct tally tally = {0};
        t->total = exp(t->epsilon / 2 * (2.0 * (double)s / (double)(n_masses - 1) - 1) * 0.999);
        try_users(t, 0, &tally);
        if (tally.sum > best) {
            best = tally.sum;
            best_total = t->total;
        }
    }
    t->total = best_total;
    return best;
}

/* The power of the candidates' likes and the total mass with the best hit rate on some of the
 * validation users. */
static void choose_shape(struct trial *t)
{
    static const double powers[] = {0, 1, 2, 4, 8, 16};
    double best = -1, best_total = 1, best_power = 0;
    const size_t k = t->split->n_candidates;
    t->users_max = 160;
    for (size_t p = 0; p <= sizeof powers / sizeof powers[0]; p++) {
        const int is_last = p == sizeof powers / sizeof powers[0];
        const double power = is_last ? best_power : powers[p];
        for (size_t j = 0; j < k; j++) {
            t->shape[j] = pow((double)n_likes(t->data, t->split, j) + 1, power);
        }
        const double score = is_last ? -1 : choose_total(t, 4);
        if (score > best) {
            best = score;
            best_total = t->total;
            best_power = power;
        }
    }
    t->total = best_total;
    t->users_max = SIZE_MAX;
}

static size_t most_liked(const struct data *data, const struct split *split)
{
    size_t best = 0;
    for (size_t j = 1; j < split->n_candidates; j++) {
        best = n_likes(data, split, j) > n_likes(data, split, best) ? j : best;
    }
    return best;
}

static void run_splits(const struct data *data, size_t n_candidates, size_t n_splits,
                       size_t n_epsilons, const double *epsilons,
                       struct tally *tallies /* (n_epsilons, N_METHODS) */)
{
    for (size_t s = 0; s < n_splits; s++) {
        struct split split;
        split_init(&split, data, n_candidates, s + 1);
        for (size_t e = 0; e < n_epsilons; e++) {
            for (int m = 0; m < N_METHODS; m++) {
                struct trial trial = {.data = data,
                                      .split = &split,
                                      .method = (enum method)m,
                                      .epsilon = epsilons[e],
                                      .total = 1,
                                      .shape = memory(n_candidates, sizeof(double)),
                                      .popular = most_liked(data, &split),
                                      .users_max = SIZE_MAX};
                if (m == WPM_POPULAR) {
                    choose_shape(&trial);
                } else if (m == WPM || m == KPM) {
                    (void)choose_total(&trial, N_MASSES);
                }
                try_users(&trial, 1, &tallies[e * N_METHODS + (size_t)m]);
                free(trial.shape);
            }
            (void)fprintf(stderr, "recommend: split %zu of %zu, epsilon %g\n", s + 1, n_splits,
                          epsilons[e]);
        }
        split_release(&split);
    }
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        (void)fprintf(stderr,
                      "usage: recommend RATINGS.csv MOVIES.csv CANDIDATES SPLITS EPSILON...\n");
        return 2;
    }
    struct data data = {0};
    const size_t n_candidates = (size_t)strtoul(argv[3], NULL, 10);
    const size_t n_splits = (size_t)strtoul(argv[4], NULL, 10), n_epsilons = (size_t)argc - 5;
    double *epsilons = memory(n_epsilons, sizeof *epsilons);
    struct tally *tallies = memory(n_epsilons * N_METHODS, sizeof *tallies);
    for (size_t e = 0; e < n_epsilons; e++) {
        epsilons[e] = strtod(argv[5 + e], NULL);
        require(epsilons[e] > 0 && epsilons[e] <= 100, "epsilon is above 0 and at most 100");
    }
    require(n_candidates > 0 && n_splits > 0, "CANDIDATES and SPLITS are at least 1");
    data_read(&data, argv[1], argv[2]);
    run_splits(&data, n_candidates, n_splits, n_epsilons, epsilons, tallies);
    (void)printf("epsilon,method,hit_rate,standard_error\n");
    for (size_t t = 0; t < n_epsilons * N_METHODS; t++) {
        const struct tally *tally = &tallies[t];
        const double mean = tally->sum / tally->n;
        const double variance =
            (tally->squares / tally->n - mean * mean) * tally->n / (tally->n - 1);
        (void)printf("%g,%s,%.5f,%.5f\n", epsilons[t / N_METHODS], method_names[t % N_METHODS],
                     mean, sqrt(fmax(0, variance) / tally->n));
    }
    data_release(&data);
    free(epsilons);
    free(tallies);
    return 0;
}
