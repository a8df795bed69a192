/* Ratings of movies and one split of them into public, private and candidate parts, for
 * recommend.c. Failures end the program with a sentence. */
#ifndef DPOT_EXPERIMENTS_RECOMMEND_DATA_H
#define DPOT_EXPERIMENTS_RECOMMEND_DATA_H

#include <stddef.h>
#include <stdint.h>

#define GENRES_MAX 64

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
    int *is_candidate; /* (n_movies) true: in the fifth that may be recommended */
    size_t n_candidates, n_inputs;
    size_t *candidates; /* (n_candidates) */
    size_t *inputs;     /* (n_inputs) the other movies */
    double *cost;       /* (n_inputs, n_candidates) */
    double sensitivity; /* of the exponential mechanism */
};

void require(int holds, const char *what);

/* Zeroed. */
void *memory(size_t n, size_t size);

void data_read(struct data *data, const char *ratings_path, const char *movies_path);
void data_release(struct data *data);

/* Fifths of users and movies drawn by `seed`, candidates, the embedding of the others and their
 * costs. */
void split_init(struct split *split, const struct data *data, size_t n_candidates, uint64_t seed);
void split_release(struct split *split);

#endif
