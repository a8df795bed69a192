/* Private recommendation of a movie (002, section 5.2), for recommend.sh.
 *
 *   recommend RATINGS.csv MOVIES.csv CANDIDATES SPLITS EPSILON...
 *
 * RATINGS has lines user,movie,rating,time and MOVIES lines movie,title,genres (a|b|c), each below a header, as in
 * MovieLens. For every split (a seed): a fifth of the users are test users, a fifth of the movies can be recommended;
 * the candidates are those that validation users have rated most often. A user's measure is proportional to the
 * ratings of the other movies. Movies are embedded by the 64 first principal components of the centred ratings of
 * the validation users, which are public data here, and the cost is their cosine distance.
 *
 * A hit: the movie that comes out is one that the user has rated 4 or better. Hit rates are expectations over the
 * mechanism's draw, computed from its law; means over the test users of all splits with their standard error. Every
 * mechanism's base measure is uniform, with the total mass that does best on the validation users.
 *
 * Prints CSV: epsilon,method,hit rate,standard error. "one for all" is the candidate that most validation users
 * like, said to everybody (epsilon 0), "uniform" any candidate, "not private" the candidate nearest to a movie drawn
 * from the user's measure: the projection where everything is allowed. */
#include "mechanism/baselines.h"
#include "ot/linalg.h"
#include "ot/projection.h"
#include "ot/symmetric.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM 64
#define LAMBDA 0.01
#define N_SWEEPS 40
#define N_MASSES 7
#define LIKED 4.0
#define USERS_MAX 10000
#define MOVIES_MAX 100000
#define GENRES_MAX 64
#define LINE_LEN 1024

struct genre_names {
    char name[GENRES_MAX][32];
    size_t n;
};

struct data {
    size_t n_users, n_movies;
    long *movie_ids;  /* (n_movies) ascending */
    uint64_t *genres; /* (n_movies) bits */
    double *ratings;  /* (n_users, n_movies) 0: none */
    struct genre_names names;
};

struct split {
    int *is_test_user; /* (n_users) */
    int *
        is_candidate; /* (n_movies) of the fifth that can be recommended, before the most rated are taken */
    size_t n_candidates, n_inputs;
    size_t *candidates; /* (n_candidates) */
    size_t *inputs;     /* (n_inputs) the other movies */
    double *cost;       /* (n_inputs, n_candidates) */
    double sensitivity; /* of the exponential mechanism */
};

static void require(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "recommend: %s\n", what);
        exit(3);
    }
}

static void *memory(size_t n, size_t size)
{
    void *p = calloc(n > 0 ? n : 1, size);
    require(p != NULL, "out of memory");
    return p;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_u64(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* ---- files ---- */

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[LINE_LEN];
    require(file && fgets(line, sizeof line, file), "a file cannot be read");
    return file;
}

static size_t genre_of(struct genre_names *names, const char *word, size_t len)
{
    for (size_t g = 0; g < names->n; g++) {
        if (strlen(names->name[g]) == len && memcmp(names->name[g], word, len) == 0) {
            return g;
        }
    }
    require(names->n < GENRES_MAX && len < sizeof names->name[0], "too many genres");
    memcpy(names->name[names->n], word, len);
    return names->n++;
}

/* The genres stand after the last comma; titles may have commas, genres do not. */
static void read_movies(struct data *data, const char *path)
{
    char line[LINE_LEN];
    FILE *file = open_file(path);
    data->movie_ids = memory(MOVIES_MAX, sizeof *data->movie_ids);
    data->genres = memory(MOVIES_MAX, sizeof *data->genres);
    while (fgets(line, sizeof line, file)) {
        const size_t m = data->n_movies;
        char *comma = strrchr(line, ',');
        require(comma && m < MOVIES_MAX, "MOVIES has a line without genres");
        data->movie_ids[m] = strtol(line, NULL, 10);
        require(m == 0 || data->movie_ids[m] > data->movie_ids[m - 1], "MOVIES is not in order");
        for (char *at = comma + 1; *at && *at != '\n' && *at != '\r';) {
            const size_t len = strcspn(at, "|\r\n");
            data->genres[m] |= (uint64_t)1 << genre_of(&data->names, at, len);
            at += len + (at[len] == '|');
        }
        data->n_movies++;
    }
    (void)fclose(file);
}

static size_t movie_index(const struct data *data, long id)
{
    size_t low = 0, high = data->n_movies;
    while (low + 1 < high) {
        const size_t middle = (low + high) / 2;
        if (data->movie_ids[middle] <= id) {
            low = middle;
        } else {
            high = middle;
        }
    }
    require(data->n_movies > 0 && data->movie_ids[low] == id, "a rated movie is not in MOVIES");
    return low;
}

static void read_ratings(struct data *data, const char *path)
{
    char line[LINE_LEN];
    FILE *file = open_file(path);
    while (fgets(line, sizeof line, file)) {
        const long user = strtol(line, NULL, 10);
        data->n_users = user > (long)data->n_users ? (size_t)user : data->n_users;
        require(user >= 1 && user <= USERS_MAX, "users are 1 to 10000");
    }
    require(fseek(file, 0, SEEK_SET) == 0 && fgets(line, sizeof line, file),
            "RATINGS cannot be read again");
    data->ratings = memory(data->n_users * data->n_movies, sizeof(double));
    while (fgets(line, sizeof line, file)) {
        char *at = line;
        const size_t user = (size_t)strtol(at, &at, 10) - 1;
        const size_t movie = movie_index(data, strtol(at + (*at == ','), &at, 10));
        data->ratings[user * data->n_movies + movie] = strtod(at + (*at == ','), NULL);
    }
    (void)fclose(file);
}

/* ---- one split ---- */

/* Marks a fifth of n things. */
static void mark_fifth(size_t n, uint64_t *state, int *marks)
{
    size_t *order = memory(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        const size_t j = (size_t)(next_u64(state) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < n / 5; i++) {
        marks[order[i]] = 1;
    }
    free(order);
}

static size_t n_ratings(const struct data *data, const struct split *split, size_t movie)
{
    size_t n = 0;
    for (size_t u = 0; u < data->n_users; u++) {
        n += !split->is_test_user[u] && data->ratings[u * data->n_movies + movie] > 0;
    }
    return n;
}

/* The most rated of the fifth; ties to the lower number. */
static void choose_candidates(const struct data *data, struct split *split)
{
    size_t *counts = memory(data->n_movies, sizeof *counts);
    for (size_t m = 0; m < data->n_movies; m++) {
        counts[m] = split->is_candidate[m] ? n_ratings(data, split, m) + 1 : 0;
    }
    for (size_t c = 0; c < split->n_candidates; c++) {
        size_t best = 0;
        for (size_t m = 1; m < data->n_movies; m++) {
            best = counts[m] > counts[best] ? m : best;
        }
        require(counts[best] > 0, "fewer movies than candidates");
        split->candidates[c] = best;
        counts[best] = 0;
    }
    free(counts);
}

/* Rows of the centred ratings of validation users, (n, n_movies). */
static double *centred_ratings(const struct data *data, const struct split *split, size_t *n)
{
    double *rows = memory(data->n_users * data->n_movies, sizeof *rows);
    *n = 0;
    for (size_t u = 0; u < data->n_users; u++) {
        if (!split->is_test_user[u]) {
            memcpy(rows + (*n)++ * data->n_movies, data->ratings + u * data->n_movies,
                   data->n_movies * sizeof *rows);
        }
    }
    for (size_t m = 0; m < data->n_movies; m++) {
        double mean = 0;
        for (size_t u = 0; u < *n; u++) {
            mean += rows[u * data->n_movies + m] / (double)*n;
        }
        for (size_t u = 0; u < *n; u++) {
            rows[u * data->n_movies + m] -= mean;
        }
    }
    return rows;
}

/* Movies by their loadings, of length one, (n_movies, DIM); a movie nobody rated is 0. */
static double *embed(const struct data *data, const struct split *split)
{
    const struct dpot_linalg *linalg = dpot_linalg_openblas();
    size_t n = 0;
    double *rows = centred_ratings(data, split, &n);
    double *gram = memory(n * n, sizeof *gram), *values = memory(n, sizeof *values);
    double *points = memory(data->n_movies * DIM, sizeof *points);
    struct dpot_error error = {0};
    require(n >= DIM, "fewer validation users than dimensions");
    linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_TRANSPOSE, n, n, data->n_movies, 1, rows, data->n_movies,
                 rows, data->n_movies, 0, gram, n);
    require(dpot_symmetric_eigen(n, gram, values, NULL, &error) == DPOT_OK, error.text);
    linalg->gemm(DPOT_TRANSPOSE, DPOT_TRANSPOSE, data->n_movies, DIM, n, 1, rows, data->n_movies,
                 gram + (n - DIM) * n, n, 0, points, DIM);
    for (size_t m = 0; m < data->n_movies; m++) {
        double square = 0;
        for (size_t d = 0; d < DIM; d++) {
            square += points[m * DIM + d] * points[m * DIM + d];
        }
        for (size_t d = 0; d < DIM; d++) {
            points[m * DIM + d] /= square > 0 ? sqrt(square) : 1;
        }
    }
    free(rows);
    free(gram);
    free(values);
    return points;
}

static void fill_cost(const struct data *data, struct split *split)
{
    double *points = embed(data, split);
    split->cost = memory(split->n_inputs * split->n_candidates, sizeof *split->cost);
    for (size_t j = 0; j < split->n_candidates; j++) {
        double least = HUGE_VAL, most = -HUGE_VAL;
        for (size_t i = 0; i < split->n_inputs; i++) {
            double product = 0;
            for (size_t d = 0; d < DIM; d++) {
                product +=
                    points[split->inputs[i] * DIM + d] * points[split->candidates[j] * DIM + d];
            }
            split->cost[i * split->n_candidates + j] = fmax(0, 1 - product);
            least = fmin(least, fmax(0, 1 - product));
            most = fmax(most, fmax(0, 1 - product));
        }
        split->sensitivity = fmax(split->sensitivity, most - least);
    }
    free(points);
}

static void split_init(struct split *split, const struct data *data, size_t n_candidates,
                       uint64_t seed)
{
    uint64_t state = seed;
    memset(split, 0, sizeof *split);
    split->n_candidates = n_candidates;
    split->is_test_user = memory(data->n_users, sizeof(int));
    split->is_candidate = memory(data->n_movies, sizeof(int));
    split->candidates = memory(n_candidates, sizeof *split->candidates);
    split->inputs = memory(data->n_movies, sizeof *split->inputs);
    mark_fifth(data->n_users, &state, split->is_test_user);
    mark_fifth(data->n_movies, &state, split->is_candidate);
    for (size_t m = 0; m < data->n_movies; m++) {
        if (!split->is_candidate[m]) {
            split->inputs[split->n_inputs++] = m;
        }
    }
    choose_candidates(data, split);
    fill_cost(data, split);
}

static void split_release(struct split *split)
{
    free(split->is_test_user);
    free(split->is_candidate);
    free(split->candidates);
    free(split->inputs);
    free(split->cost);
}

/* ---- mechanisms ---- */

/* What one user brings: rated inputs, and which candidates are hits. */
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

static void fill_bounds(size_t n, double epsilon, double total, double *lower, double *upper)
{
    for (size_t j = 0; j < n; j++) {
        lower[j] = exp(-epsilon / 2) * total / (double)n;
        upper[j] = exp(epsilon / 2) * total / (double)n;
    }
}

static void law_wpm(const struct split *split, const struct user *user, double epsilon,
                    double total, double *q)
{
    const size_t k = split->n_candidates;
    double *bounds = memory(2 * k, sizeof *bounds);
    const struct dpot_polytope polytope = {k, bounds, bounds + k};
    const struct dpot_projection_config config = {
        .n_rows = user->n, .n_cols = k, .lambda = LAMBDA, .cost_range = 2, .polytope = &polytope};
    struct dpot_projection *projection = NULL;
    fill_bounds(k, epsilon, total, bounds, bounds + k);
    require(dpot_projection_new(&config, &projection) == DPOT_OK, "a projection was refused");
    for (size_t i = 0; i < user->n; i++) {
        memcpy(dpot_projection_cost(projection) + i * k, split->cost + user->rows[i] * k,
               k * sizeof *q);
    }
    dpot_projection_run(projection, user->mu, N_SWEEPS, 0, q, NULL);
    dpot_projection_free(projection);
    free(bounds);
}

/* KPM over the genres, then any candidate of the genre; of a genre without candidates, any at all. */
static void law_kpm(const struct data *data, const struct split *split, const struct user *user,
                    double epsilon, double total, double *q)
{
    const size_t n = data->names.n, k = split->n_candidates;
    double genres[GENRES_MAX] = {0}, lower[GENRES_MAX], upper[GENRES_MAX], law[GENRES_MAX];
    const struct dpot_polytope polytope = {n, lower, upper};
    fill_bounds(n, epsilon, total, lower, upper);
    for (size_t i = 0; i < user->n; i++) {
        const uint64_t bits = data->genres[split->inputs[user->rows[i]]];
        const int n_bits = __builtin_popcountll(bits);
        for (size_t g = 0; g < n; g++) {
            genres[g] += bits >> g & 1 ? user->mu[i] / n_bits : 0;
        }
    }
    (void)dpot_polytope_project_kl_linear(&polytope, genres, 1, law);
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

enum method { WPM, KPM, EXPONENTIAL, ONE_FOR_ALL, UNIFORM, NEAREST, N_METHODS };
static const char *const method_names[N_METHODS] = {"WPM",         "genre KPM", "exponential",
                                                    "one for all", "uniform",   "not private"};

static size_t most_liked(const struct data *data, const struct split *split)
{
    size_t best = 0, most = 0;
    for (size_t j = 0; j < split->n_candidates; j++) {
        size_t n = 0;
        for (size_t u = 0; u < data->n_users; u++) {
            n += !split->is_test_user[u] &&
                 data->ratings[u * data->n_movies + split->candidates[j]] >= LIKED;
        }
        if (n > most) {
            most = n;
            best = j;
        }
    }
    return best;
}

/* ---- users ---- */

struct tally {
    double sum, squares, n;
};

struct trial {
    const struct data *data;
    const struct split *split;
    enum method method;
    double epsilon, total;
    size_t popular;
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
        law_wpm(t->split, user, t->epsilon, t->total, q);
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

/* Users of one kind; those who have rated no input movie bring no measure and are left out. */
static void try_users(const struct trial *t, int is_test, struct tally *tally)
{
    const size_t n = t->split->n_inputs;
    struct user user = {.rows = memory(n, sizeof(size_t)), .mu = memory(n, sizeof(double))};
    double *q = memory(t->split->n_candidates, sizeof *q);
    for (size_t u = 0; u < t->data->n_users; u++) {
        if (t->split->is_test_user[u] != is_test) {
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

/* The total mass of the uniform base measure that does best on validation users. */
static void choose_total(struct trial *t)
{
    double best = -1, best_total = 1;
    for (size_t s = 0; s < N_MASSES; s++) {
        struct tally tally = {0};
        t->total = exp(t->epsilon / 2 * (2.0 * (double)s / (N_MASSES - 1) - 1) * 0.999);
        try_users(t, 0, &tally);
        if (tally.sum > best) {
            best = tally.sum;
            best_total = t->total;
        }
    }
    t->total = best_total;
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
                struct trial trial = {data,        &split, (enum method)m,
                                      epsilons[e], 1,      most_liked(data, &split)};
                if (m == WPM || m == KPM) {
                    choose_total(&trial);
                }
                try_users(&trial, 1, &tallies[e * N_METHODS + (size_t)m]);
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
    read_movies(&data, argv[2]);
    read_ratings(&data, argv[1]);
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
    free(data.movie_ids);
    free(data.genres);
    free(data.ratings);
    free(epsilons);
    free(tallies);
    return 0;
}
