#include "recommend_data.h"

#include "base/splitmix.h"
#include "ot/linalg.h"
#include "ot/symmetric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM 64
#define USERS_MAX 10000
#define MOVIES_MAX 100000
#define LINE_LEN 1024

void require(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "recommend: %s\n", what);
        exit(3);
    }
}

void *memory(size_t n, size_t size)
{
    void *p = calloc(n > 0 ? n : 1, size);
    require(p != NULL, "out of memory");
    return p;
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

/* The genres follow the last comma; titles may have commas, genres do not. */
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

void data_read(struct data *data, const char *ratings_path, const char *movies_path)
{
    read_movies(data, movies_path);
    read_ratings(data, ratings_path);
}

void data_release(struct data *data)
{
    free(data->movie_ids);
    free(data->genres);
    free(data->ratings);
}

/* ---- one split ---- */

/* Marks a fifth of n things. */
static void mark_fifth(size_t n, uint64_t *state, int *marks)
{
    size_t *order = memory(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        const size_t j = (size_t)(splitmix_next(state) % (i + 1));
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

void split_init(struct split *split, const struct data *data, size_t n_candidates, uint64_t seed)
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

void split_release(struct split *split)
{
    free(split->is_test_user);
    free(split->is_candidate);
    free(split->candidates);
    free(split->inputs);
    free(split->cost);
}
