/* Our side of training.sh: steps of generator_train on the cases of the peers.
 * Argument: a folder, where it writes parameters, latent points and pools for the peers.
 *
 *   step CASE     the next step of a run: latent points, network, transport, gradients, RMSprop
 *   loss CASE     three steps of a run from the start, with the peers' latent points and
 *                 parameters; the value is the loss of the third, which the first two gradients
 *                 have moved
 *   network CASE  forward and backward pass of the network alone */
#include "base/error.h"
#include "solve/learn/generator_train.h"
#include "solve/run/draw.h"
#include "turns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_LOSSES 3
#define N_STEPS 1000000 /* more than any request */
#define SEED 1

struct bench_case {
    const char *name, *architecture;
    size_t latent_dim, dim, batch, sweeps;
    enum network_bound bound;
    double sigma;
};

static const struct bench_case cases[] = {
    {"half", "mlp:256,256", 2, 2, 1000, 400, NETWORK_UNBOUNDED, 0.53},
    {"dcgan256", "dcgan28:256", 100, 784, 400, 400, NETWORK_TANH, 3.0},
    {"dcgan128", "dcgan28:128", 100, 784, 400, 400, NETWORK_TANH, 3.0},
};
#define N_CASES (sizeof cases / sizeof cases[0])

struct bench {
    const char *folder;
    const struct bench_case *open; /* the case of the following requests */
    float *pool, *z, *out;
    struct generator_train *train;
};

static struct generator_train *new_train(const struct bench *bench, size_t n_steps,
                                         size_t look_every)
{
    const struct bench_case *c = bench->open;
    struct dpot_error error;
    struct generator_train *train = NULL;
    const struct generator_config config = {.architecture = c->architecture,
                                            .latent_dim = c->latent_dim,
                                            .dim = c->dim,
                                            .bound = c->bound,
                                            .lo = -1,
                                            .hi = 1,
                                            .distance = CLOUD_SQUARED,
                                            .scale = 1 / (2 * c->sigma * c->sigma),
                                            .lambda = 1,
                                            .batch = c->batch,
                                            .pool_batch = c->batch,
                                            .sweeps = c->sweeps,
                                            .n_steps = n_steps,
                                            .optimizer = OPTIMIZER_RMSPROP,
                                            .learning_rate = 1e-4,
                                            .seed = SEED,
                                            .look_every = look_every};
    const struct generator_pool pool = {bench->pool, NULL, c->batch};
    turn_require(generator_train_new(&config, &pool, &train, &error) == DPOT_OK,
                 "a run cannot be prepared");
    return train;
}

/* Runs until step `until`; returns the last loss. */
static double run(struct generator_train *train, uint64_t until)
{
    struct generator_progress progress;
    struct dpot_error error;
    turn_require(generator_train_run(train, until, NULL, &progress, &error) == DPOT_OK &&
                     progress.outcome != GENERATOR_DIVERGED,
                 "a step failed");
    return progress.n_looks ? progress.looks[progress.n_looks - 1].loss : NAN;
}

/* ---- cases ---- */

static double gaussian(size_t index)
{
    const double u = (double)draw_uniform(2, 0, 2 * index);
    const double v = (double)draw_uniform(2, 0, 2 * index + 1);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Clean points and noise: a half circle, or images of random pixels. */
static void draw_pool(const struct bench_case *c, float *pool)
{
    for (size_t i = 0; i < c->batch; i++) {
        const double angle = 3.141592653589793 * (double)draw_uniform(3, 0, i);
        for (size_t k = 0; k < c->dim; k++) {
            const size_t at = i * c->dim + k;
            const double clean = c->dim > 2 ? 2 * (double)draw_uniform(3, 1, at) - 1
                                 : k == 0   ? cos(angle)
                                            : sin(angle);
            pool[at] = (float)(clean + c->sigma * gaussian(at));
        }
    }
}

static void write_file(const struct bench *bench, const char *what, const float *data, size_t n)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s_%s", bench->open->name, what);
    turn_write(bench->folder, name, data, n, sizeof *data);
}

static void close_case(struct bench *bench)
{
    generator_train_free(bench->train);
    free(bench->pool);
    free(bench->z);
    free(bench->out);
    *bench = (struct bench){.folder = bench->folder};
}

static void open_case(struct bench *bench, const struct bench_case *c)
{
    const size_t n_z = N_LOSSES * c->batch * c->latent_dim;
    if (bench->open == c) {
        return;
    }
    close_case(bench);
    bench->open = c;
    bench->pool = turn_memory(c->batch * c->dim, sizeof(float));
    bench->z = turn_memory(n_z, sizeof(float));
    bench->out = turn_memory(c->batch * c->dim, sizeof(float));
    draw_pool(c, bench->pool);
    for (size_t step = 0; step < N_LOSSES; step++) {
        latent_draw(SEED, step, c->batch, c->latent_dim,
                    bench->z + step * c->batch * c->latent_dim);
    }
    bench->train = new_train(bench, N_STEPS, N_STEPS);
    struct network *net = generator_train_network(bench->train);
    write_file(bench, "pool", bench->pool, c->batch * c->dim);
    write_file(bench, "latent", bench->z, n_z);
    write_file(bench, "parameters", network_parameters(net), network_n_parameters(net));
    (void)run(bench->train, 1); /* the first step evaluates the loss, which is not measured */
}

/* ---- requests ---- */

static void play_loss(const struct bench *bench)
{
    struct generator_train *train = new_train(bench, N_LOSSES, 1);
    const struct turn start = turn_start();
    const double loss = run(train, N_LOSSES);
    turn_answer(turn_since(start), loss);
    generator_train_free(train);
}

static void play_network(const struct bench *bench)
{
    const struct bench_case *c = bench->open;
    struct network *net = generator_train_network(bench->train);
    float *gradient = turn_memory(network_n_parameters(net), sizeof *gradient);
    const struct turn start = turn_start();
    network_forward(net, bench->z, c->batch, NETWORK_TRAIN, bench->out);
    network_backward(net, bench->pool, gradient);
    const struct turn turn = turn_since(start);
    turn_answer(turn, NAN);
    free(gradient);
}

static void play_step(const struct bench *bench)
{
    struct generator_progress progress;
    struct dpot_error error;
    turn_require(generator_train_run(bench->train, 0, NULL, &progress, &error) == DPOT_OK,
                 "a run is lost");
    const struct turn start = turn_start();
    (void)run(bench->train, progress.step + 1);
    turn_answer(turn_since(start), NAN);
}

static void play(void *ctx, char *const words[TURN_WORDS + 1], size_t n_words)
{
    struct bench *bench = ctx;
    for (size_t i = 0; n_words == 2 && i < N_CASES; i++) {
        if (strcmp(words[1], cases[i].name) == 0) {
            open_case(bench, &cases[i]);
            if (strcmp(words[0], "loss") == 0) {
                play_loss(bench);
            } else if (strcmp(words[0], "network") == 0) {
                play_network(bench);
            } else {
                play_step(bench);
            }
            return;
        }
    }
    turn_absent("the request is step|loss|network half|dcgan256|dcgan128");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench_training FOLDER, then requests on standard input\n");
        return 2;
    }
    struct bench bench = {.folder = argv[1]};
    turns_serve(play, &bench);
    close_case(&bench);
    return 0;
}
