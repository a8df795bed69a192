/* Settings of a training: keys, ranges and defaults. */
#include "generator/atoms.h"
#include "generator/settings.h"

#include <criterion/criterion.h>
#include <string.h>

static struct settings read(const char *text, enum dpot_noise noise, size_t dim, size_t n)
{
    struct settings settings;
    struct dpot_error error = {{0}};
    json_t *given = json_loads(text, 0, NULL);
    cr_assert_not_null(given, "%s", text);
    cr_assert_eq(settings_read(given, "parameters", noise, dim, n, &settings, &error), DPOT_OK,
                 "%s: %s", text, error.text);
    json_decref(given);
    return settings;
}

static void refuse(const char *text, size_t dim, const char *word)
{
    struct settings settings;
    struct dpot_error error = {{0}};
    json_t *given = json_loads(text, 0, NULL);
    cr_assert_not_null(given, "%s", text);
    cr_assert_neq(
        settings_read(given, "parameters", DPOT_NOISE_LAPLACE, dim, 1000, &settings, &error),
        DPOT_OK, "%s", text);
    cr_assert_not_null(strstr(error.text, word), "%s says: %s", text, error.text);
    json_decref(given);
}

Test(settings, in_few_dimensions_the_whole_pool_is_used_and_in_many_it_is_drawn_from)
{
    struct settings s = read("{}", DPOT_NOISE_LAPLACE, 2, 100000);
    cr_assert_str_eq(s.architecture, "mlp:256,256");
    cr_assert_eq(s.atoms, 4096);
    cr_assert_eq(s.pool_batch, 0);
    cr_assert_eq(s.cost, CLOUD_L1);
    cr_assert_eq(s.regularization, 1);
    s = read("{}", DPOT_NOISE_GAUSSIAN, 784, 100000);
    cr_assert_str_eq(s.architecture, "resize28:24,12,128");
    cr_assert_eq(s.atoms, 0);
    cr_assert_eq(s.pool_batch, 4 * s.batch);
    cr_assert_eq(s.cost, CLOUD_SQUARED);
    s = read("{\"batch\":100}", DPOT_NOISE_GAUSSIAN, 10, 100000);
    cr_assert_eq(s.pool_batch, 400);
    s = read("{}", DPOT_NOISE_GAUSSIAN, 10, 37);
    cr_assert_eq(s.pool_batch, 37, "no more than there are");
    s = read("{\"atoms\":0}", DPOT_NOISE_LAPLACE, 2, 100000);
    cr_assert_eq(s.pool_batch, 4 * s.batch);
    s = read("{\"pool_batch\":7}", DPOT_NOISE_LAPLACE, 2, 100000);
    cr_assert_eq(s.atoms, 0);
    cr_assert_eq(s.pool_batch, 7);
}

Test(settings, every_key_is_read)
{
    const struct settings s =
        read("{\"arch\":\"mlp:8\",\"latent_dim\":3,\"batch\":11,\"atoms\":99,\"sinkhorn\":5,"
             "\"steps\":17,\"optimizer\":\"rmsprop\",\"learning_rate\":0.25,\"schedule\":"
             "\"linear\",\"seed\":9223372036854775807,\"cost\":\"squared\",\"regularization\":0.5}",
             DPOT_NOISE_LAPLACE, 2, 1000);
    cr_assert_str_eq(s.architecture, "mlp:8");
    cr_assert_eq(s.latent_dim, 3);
    cr_assert_eq(s.batch, 11);
    cr_assert_eq(s.atoms, 99);
    cr_assert_eq(s.sinkhorn, 5);
    cr_assert_eq(s.steps, 17);
    cr_assert_eq(s.optimizer, OPTIMIZER_RMSPROP);
    cr_assert_eq(s.learning_rate, 0.25);
    cr_assert_eq(s.schedule, LEARNING_LINEAR);
    cr_assert_eq(s.seed, INT64_MAX);
    cr_assert_eq(s.cost, CLOUD_SQUARED);
    cr_assert_eq(s.regularization, 0.5);
}

Test(settings, wrong_keys_types_words_and_ranges_are_refused_by_name)
{
    static const char *const wrong[][2] = {
        {"{\"step\":1}", "parameters.step is not known"},
        {"[]", "must be a JSON object"},
        {"{\"steps\":\"many\"}", "parameters.steps is \"many\""},
        {"{\"steps\":0}", "parameters.steps is 0"},
        {"{\"steps\":10000001}", "parameters.steps is 10000001"},
        {"{\"steps\":1.5}", "parameters.steps is 1.5"},
        {"{\"latent_dim\":0}", "parameters.latent_dim is 0"},
        {"{\"batch\":65537}", "parameters.batch is 65537"},
        {"{\"pool_batch\":-1}", "parameters.pool_batch is -1"},
        {"{\"atoms\":65537}", "parameters.atoms is 65537"},
        {"{\"sinkhorn\":0}", "parameters.sinkhorn is 0"},
        {"{\"learning_rate\":0}", "parameters.learning_rate is 0"},
        {"{\"learning_rate\":1e7}", "parameters.learning_rate is 1"},
        {"{\"learning_rate\":true}", "parameters.learning_rate is true"},
        {"{\"regularization\":0}", "parameters.regularization is 0"},
        {"{\"seed\":-1}", "parameters.seed is -1"},
        {"{\"optimizer\":\"sgd\"}", "parameters.optimizer is \"sgd\": choose rmsprop or adam"},
        {"{\"optimizer\":3}", "parameters.optimizer is 3"},
        {"{\"schedule\":\"never\"}",
         "parameters.schedule is \"never\": choose constant, cosine or linear"},
        {"{\"cost\":\"l2\"}", "parameters.cost is \"l2\": choose l1"},
        {"{\"arch\":7}", "parameters.arch is 7"},
        {"{\"arch\":\"mlp:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\"}",
         "parameters.arch has 103 bytes"},
        {"{\"atoms\":10,\"pool_batch\":10}", "give one of them"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        refuse(wrong[i][0], 2, wrong[i][1]);
    }
    refuse("{\"atoms\":10}", 4, "atoms is 10 and reports have 4 coordinates: at most 3");
}

/* The settings stored with a job are read again when it runs. */
Test(settings, written_settings_read_back_unchanged)
{
    static const char *const texts[] = {"{}",
                                        "{\"pool_batch\":50}",
                                        "{\"atoms\":7}",
                                        "{\"atoms\":0}",
                                        "{\"batch\":65536,\"atoms\":0}",
                                        "{\"learning_rate\":0.1,\"cost\":\"squared\"}"};
    static const size_t dims[] = {1, 2, 3, 4, 784};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++) {
            if (dims[d] > ATOMS_DIM_MAX && strstr(texts[i], "\"atoms\":7")) {
                continue;
            }
            const struct settings s = read(texts[i], DPOT_NOISE_LAPLACE, dims[d], SIZE_MAX);
            json_t *once = settings_json(&s);
            char *text = json_dumps(once, JSON_COMPACT | JSON_REAL_PRECISION(17));
            const struct settings again = read(text, DPOT_NOISE_LAPLACE, dims[d], SIZE_MAX);
            json_t *twice = settings_json(&again);
            cr_assert(json_equal(once, twice), "%s in %zu dimensions: %s", texts[i], dims[d], text);
            json_decref(once);
            json_decref(twice);
            free(text);
        }
    }
}
