/* Makes generators, saves them, and the points that dpot generates with them. Usage:
 *   make_generator FOLDER
 * writes NAME.onnx, NAME.z and NAME.x (float32 rows) for each, and list.txt: name, points, latent
 * dimension, dimension and range of the points. */
#include "generator/model.h"

#include "ot/linalg_f32.h"
#include "solve/run/draw.h"

#include <stdio.h>
#include <stdlib.h>

#define N_POINTS 37

struct kind {
    const char *name, *architecture;
    size_t latent_dim, dim;
    enum network_bound bound;
};

static const struct kind kinds[] = {
    {"mlp", "mlp:64,32", 7, 3, NETWORK_UNBOUNDED},
    {"linear", "mlp", 4, 2, NETWORK_SIGMOID},
    {"images", "dcgan28:32", 20, 784, NETWORK_TANH},
    {"smooth", "resize28:32,16,256", 20, 784, NETWORK_TANH},
    {"full", "dcgan28", 100, 784, NETWORK_TANH},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static void die(const char *what)
{
    fprintf(stderr, "make_generator: %s\n", what);
    exit(1);
}

static const char *path_of(const char *folder, const char *name, const char *ending)
{
    static char path[1024];
    const int len = snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    if (len < 0 || (size_t)len >= sizeof path) {
        die("the path is too long");
    }
    return path;
}

static void write_floats(const char *path, const float *x, size_t n)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(x, sizeof *x, n, file) != n || fclose(file) != 0) {
        die(path);
    }
}

/* Weights as after training: gains, offsets and running statistics of all sizes. */
static void shake(struct network *net)
{
    float *p = network_parameters(net), *s = network_state(net);
    network_initialise(net, 1);
    for (size_t i = 0; i < network_n_parameters(net); i++) {
        p[i] += 0.05F * (draw_uniform(2, 0, i) - 0.5F);
    }
    for (size_t i = 0; i < network_n_state(net); i++) {
        s[i] += 0.5F * draw_uniform(2, 1, i);
    }
}

static void save(const struct kind *kind, const char *path, struct dpot_error *error)
{
    struct generator_model model = {0};
    const struct network_config config = {.architecture = kind->architecture,
                                          .latent_dim = kind->latent_dim,
                                          .dim = kind->dim,
                                          .bound = kind->bound,
                                          .lo = -1,
                                          .hi = 2,
                                          .max_batch = 8};
    if (network_new(&config, &model.network, error) != DPOT_OK) {
        die(error->text);
    }
    shake(model.network);
    if (generator_model_note(&model, "mechanism", "none: a test", error) != DPOT_OK ||
        generator_model_save(&model, path, error) != DPOT_OK) {
        die(error->text);
    }
    generator_model_release(&model);
}

static void make(const struct kind *kind, const char *folder, FILE *list)
{
    struct generator_model model;
    struct dpot_error error = {""};
    const struct generator_setup setup = {.max_batch = 16, .linalg = dpot_linalg_f32_openblas()};
    float *z = calloc(N_POINTS * kind->latent_dim, sizeof *z);
    float *x = calloc(N_POINTS * kind->dim, sizeof *x);
    save(kind, path_of(folder, kind->name, ".onnx"), &error);
    if (!z || !x ||
        generator_model_load(path_of(folder, kind->name, ".onnx"), &setup, &model, &error) !=
            DPOT_OK ||
        generator_model_sample(&model, 5, N_POINTS, x) != DPOT_OK) {
        die(error.text);
    }
    latent_draw(5, 0, N_POINTS, kind->latent_dim, z);
    write_floats(path_of(folder, kind->name, ".z"), z, N_POINTS * kind->latent_dim);
    write_floats(path_of(folder, kind->name, ".x"), x, N_POINTS * kind->dim);
    fprintf(list, "%s %d %zu %zu\n", kind->name, N_POINTS, kind->latent_dim, kind->dim);
    generator_model_release(&model);
    free(z);
    free(x);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_generator FOLDER\n");
        return 2;
    }
    FILE *list = fopen(path_of(argv[1], "list", ".txt"), "w");
    if (!list) {
        die("the folder cannot be written to");
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        make(&kinds[i], argv[1], list);
    }
    return fclose(list) == 0 ? 0 : 1;
}
