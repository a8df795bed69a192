/* Training runs: the same result for any interruption and number of threads; failures. */
#include "generator/checkpoint.h"
#include "generator/provenance.h"
#include "runs.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define MLP                                                                                        \
    "\"arch\":\"mlp:8,8\",\"latent_dim\":2,\"batch\":24,\"sinkhorn\":8,\"learning_rate\":0.01"
#define WITH_ATOMS "{" MLP ",\"atoms\":60,\"steps\":13}"
#define WITH_BATCHES "{" MLP ",\"pool_batch\":40,\"steps\":13}"
#define WITH_STATE                                                                                 \
    "{\"arch\":\"dcgan28:2\",\"latent_dim\":2,\"batch\":5,\"pool_batch\":9,\"sinkhorn\":4,"        \
    "\"steps\":5}"

static void set_up(void)
{
    folder_make();
    cr_assert_eq(dpot_init(), DPOT_OK);
}

TestSuite(training, .init = set_up, .fini = folder_remove);

static void run_in_slices(struct training *training, uint64_t slice)
{
    struct generator_progress progress = {.outcome = GENERATOR_STOPPED};
    while (progress.outcome == GENERATOR_STOPPED) {
        cr_assert_eq(
            generator_train_run(training->train, progress.step + slice, NULL, &progress, NULL),
            DPOT_OK);
    }
    cr_assert_eq(progress.outcome, GENERATOR_DONE);
}

static void expect_slices_alike(size_t n, size_t dim, const char *settings)
{
    struct case_of_training made;
    struct training whole;
    case_make(&made, n, dim, settings);
    case_begin(&made, &whole);
    case_finish(&whole);
    for (uint64_t slice = 1; slice <= 5; slice++) {
        struct training sliced;
        case_begin(&made, &sliced);
        run_in_slices(&sliced, slice);
        expect_same_run(&whole, &sliced);
        training_release(&sliced);
    }
    training_release(&whole);
    case_release(&made);
}

Test(training, slices_of_any_size_give_the_bits_of_one_run)
{
    expect_slices_alike(200, 2, WITH_ATOMS);
    expect_slices_alike(200, 5, WITH_BATCHES);
    expect_slices_alike(30, 784, WITH_STATE);
}

/* Resumes from a file after every number of steps. */
static void expect_resumption_alike(size_t n, size_t dim, const char *settings)
{
    struct case_of_training made;
    struct training whole;
    case_make(&made, n, dim, settings);
    case_begin(&made, &whole);
    case_finish(&whole);
    for (uint64_t step = 0; step <= made.input.settings.steps; step += 3) {
        struct training before, after;
        struct generator_progress progress;
        case_begin(&made, &before);
        cr_assert_eq(generator_train_run(before.train, step, NULL, &progress, NULL), DPOT_OK);
        cr_assert_eq(checkpoint_write(folder_path("c"), before.fingerprint, before.train, NULL),
                     DPOT_OK);
        training_release(&before);
        case_begin(&made, &after);
        cr_assert_eq(checkpoint_read(folder_path("c"), after.fingerprint, after.train, NULL),
                     DPOT_OK);
        case_finish(&after);
        expect_same_run(&whole, &after);
        training_release(&after);
    }
    training_release(&whole);
    case_release(&made);
}

Test(training, a_resumed_run_gives_the_bits_of_an_uninterrupted_one)
{
    expect_resumption_alike(200, 2, WITH_ATOMS);
    expect_resumption_alike(200, 5, WITH_BATCHES);
    expect_resumption_alike(30, 784, WITH_STATE);
}

static void expect_threads_alike(size_t n, size_t dim, const char *settings)
{
    struct case_of_training made;
    struct training alone, together;
    struct team *team = NULL;
    case_make(&made, n, dim, settings);
    case_begin(&made, &alone);
    case_finish(&alone);
    cr_assert_eq(team_new(3, &team), DPOT_OK);
    made.input.team = team;
    case_begin(&made, &together);
    case_finish(&together);
    expect_same_run(&alone, &together);
    training_release(&together);
    training_release(&alone);
    team_free(team);
    case_release(&made);
}

Test(training, one_thread_and_three_give_the_same_bits)
{
    expect_threads_alike(200, 2, WITH_ATOMS);
    expect_threads_alike(200, 5, WITH_BATCHES);
    expect_threads_alike(30, 784, WITH_STATE);
}

/* A clock that passes the deadline at its n-th reading. */
static int64_t count_look(void *ctx)
{
    return ++*(int64_t *)ctx;
}

/* A run stopped within a step, at any point of any sweep, discards that step. */
Test(training, a_run_that_is_stopped_in_the_middle_of_a_step_gives_the_same_bits)
{
    struct case_of_training made;
    struct training whole;
    case_make(&made, 30, 784, WITH_STATE);
    case_begin(&made, &whole);
    case_finish(&whole);
    for (int64_t deadline = 1; deadline <= 20; deadline++) {
        struct training stopped;
        struct generator_progress progress;
        int64_t n_looks = 0;
        const struct dpot_clock clock = {
            .struct_size = sizeof clock, .ctx = &n_looks, .now = count_look};
        const struct solve_control control = {.clock = &clock, .deadline_ms = deadline};
        case_begin(&made, &stopped);
        cr_assert_eq(generator_train_run(stopped.train, UINT64_MAX, &control, &progress, NULL),
                     DPOT_OK);
        cr_assert_eq(progress.outcome, GENERATOR_STOPPED);
        case_finish(&stopped);
        expect_same_run(&whole, &stopped);
        training_release(&stopped);
    }
    training_release(&whole);
    case_release(&made);
}

/* The parameters of a diverged run are those of its last good evaluation. */
Test(training, divergence_is_detected_and_the_last_good_parameters_are_kept)
{
    struct case_of_training made;
    struct training astray, straight;
    struct generator_progress progress, again;
    case_make(&made, 200, 2,
              "{\"arch\":\"mlp:8,8\",\"batch\":24,\"atoms\":60,\"sinkhorn\":8,\"steps\":13,"
              "\"learning_rate\":1e6}");
    case_begin(&made, &astray);
    cr_assert_eq(generator_train_run(astray.train, UINT64_MAX, NULL, &progress, NULL), DPOT_OK);
    cr_assert_eq(progress.outcome, GENERATOR_DIVERGED);
    cr_assert_lt(progress.step, 13);
    uint64_t good = 0;
    for (size_t i = 0; i < progress.n_looks; i++) {
        if (progress.looks[i].loss <= 8 * fabs(progress.looks[0].loss)) {
            good = progress.looks[i].step;
        }
    }
    case_begin(&made, &straight);
    cr_assert_eq(generator_train_run(straight.train, good, NULL, &again, NULL), DPOT_OK);
    const size_t n = network_n_parameters(generator_train_network(astray.train));
    const float *kept = network_parameters(generator_train_network(astray.train));
    cr_assert_arr_eq(kept, network_parameters(generator_train_network(straight.train)),
                     n * sizeof *kept);
    for (size_t i = 0; i < n; i++) {
        cr_assert(isfinite(kept[i]));
    }
    training_release(&straight);
    training_release(&astray);
    case_release(&made);
}

/* Trains and returns the last loss of the curve. */
static double train_on(struct case_of_training *made)
{
    struct training training;
    struct generator_progress progress;
    struct dpot_error error = {{0}};
    case_begin(made, &training);
    cr_assert_eq(generator_train_run(training.train, UINT64_MAX, NULL, &progress, &error), DPOT_OK,
                 "%s", error.text);
    cr_assert_eq(progress.outcome, GENERATOR_DONE);
    const double loss = progress.looks[progress.n_looks - 1].loss;
    training_release(&training);
    return loss;
}

Test(training, the_wrong_cost_and_no_regularization_are_accepted_for_comparison)
{
    static const char *const settings[] = {
        "{" MLP ",\"atoms\":60,\"steps\":13,\"cost\":\"squared\"}",
        "{" MLP ",\"atoms\":60,\"steps\":13,\"regularization\":0.01}",
        "{" MLP ",\"atoms\":60,\"steps\":13,\"regularization\":1e6}",
        "{" MLP ",\"atoms\":60,\"steps\":13,\"optimizer\":\"rmsprop\",\"schedule\":\"constant\"}",
    };
    double losses[5];
    struct case_of_training made;
    case_make(&made, 200, 2, WITH_ATOMS);
    losses[4] = train_on(&made);
    case_release(&made);
    for (size_t i = 0; i < 4; i++) {
        case_make(&made, 200, 2, settings[i]);
        losses[i] = train_on(&made);
        cr_assert(isfinite(losses[i]));
        cr_assert_neq(losses[i], losses[4], "%s made no difference", settings[i]);
        case_release(&made);
    }
}

Test(training, a_constant_pool_and_a_single_report_can_be_learnt)
{
    struct case_of_training made;
    case_make(&made, 100, 2, "{" MLP ",\"atoms\":60,\"steps\":300}");
    for (size_t i = 0; i < 200; i++) {
        made.reports[i] = 3;
    }
    const double loss = train_on(&made);
    cr_assert(loss >= 0 && loss < 0.5, "|G - 3| / b is %g", loss);
    case_release(&made);
    case_make(&made, 1, 2, WITH_ATOMS);
    (void)train_on(&made);
    case_release(&made);
    case_make(&made, 1, 5, WITH_BATCHES);
    (void)train_on(&made);
    case_release(&made);
}

/* Outliers far beyond the noise cannot come from a campaign, whose outputs are clamped: an error
 * with a message, or a finite result. */
Test(training, outliers_of_1e20_are_trained_on_or_refused_with_a_sentence)
{
    static const char *const settings[] = {
        WITH_ATOMS, "{" MLP ",\"atoms\":60,\"steps\":13,\"cost\":\"squared\"}"};
    for (size_t k = 0; k < 2; k++) {
        struct case_of_training made;
        struct training training;
        struct generator_progress progress = {.n_looks = 0};
        struct dpot_error error = {{0}};
        case_make(&made, 200, 2, settings[k]);
        made.reports[11] = 1e20;
        made.reports[50] = -1e20;
        case_begin(&made, &training);
        const dpot_status status =
            generator_train_run(training.train, UINT64_MAX, NULL, &progress, &error);
        cr_assert(status == DPOT_OK || error.text[0] != '\0');
        const float *p = network_parameters(generator_train_network(training.train));
        for (size_t i = 0; i < network_n_parameters(generator_train_network(training.train)); i++) {
            cr_assert(isfinite(p[i]));
        }
        training_release(&training);
        case_release(&made);
    }
}

Test(training, memory_is_predicted_and_grows_with_the_problem)
{
    static const char *const larger[] = {
        "{" MLP ",\"atoms\":6000,\"steps\":13}",
        "{\"arch\":\"mlp:4000,4000\",\"latent_dim\":2,\"batch\":24,\"atoms\":60,\"steps\":13}",
        "{\"arch\":\"mlp:8,8\",\"latent_dim\":2,\"batch\":2400,\"atoms\":60,\"steps\":13}",
    };
    struct case_of_training made;
    uint64_t least = 0, n_bytes = 0;
    size_t n_values = 0;
    case_make(&made, 20000, 2, WITH_ATOMS);
    cr_assert_eq(training_memory(&made.input, &least, NULL), DPOT_OK);
    cr_assert_gt(least, 20000 * 2 * (sizeof(double) + sizeof(float)));
    cr_assert_eq(training_network_size(&made.input, &n_values, NULL), DPOT_OK);
    cr_assert_eq(n_values, 2 * 8 + 8 + 8 * 8 + 8 + 8 * 2 + 2);
    case_release(&made);
    for (size_t i = 0; i < 3; i++) {
        case_make(&made, 20000, 2, larger[i]);
        cr_assert_eq(training_memory(&made.input, &n_bytes, NULL), DPOT_OK);
        cr_assert_gt(n_bytes, least, "%s", larger[i]);
        case_release(&made);
    }
    case_make(&made, 10, 2, "{\"arch\":\"dcgan28:8\"}");
    cr_assert_eq(training_memory(&made.input, &n_bytes, NULL), DPOT_ERR_RANGE);
    case_release(&made);
}

/* ---- provenance ---- */

static const char *note_of(const struct generator_model *model, const char *key)
{
    const char *value = generator_model_find_note(model, key);
    return value ? value : "";
}

Test(training, notes_have_noise_privacy_and_pool_and_omit_unknown_values)
{
    struct case_of_training made;
    struct training training;
    struct generator_model model = {0};
    char checksum[2 * DPOT_HASH_LEN + 1];
    case_make(&made, 40, 2, WITH_ATOMS);
    case_begin(&made, &training);
    model.network = generator_train_network(training.train);
    struct provenance provenance = {.input = &made.input,
                                    .training = &training,
                                    .campaign_hash = "",
                                    .epsilon = NAN,
                                    .delta = NAN,
                                    .steps_done = 13};
    cr_assert_eq(provenance_note(&provenance, &model, NULL), DPOT_OK);
    cr_assert_null(generator_model_find_note(&model, "epsilon"));
    cr_assert_null(generator_model_find_note(&model, "delta"));
    cr_assert_null(generator_model_find_note(&model, "campaign_hash"));
    cr_assert_null(generator_model_find_note(&model, "revision"));
    dpot_hex_encode(checksum, training.pool_checksum, DPOT_HASH_LEN);
    cr_assert_str_eq(note_of(&model, "pool_checksum"), checksum);
    cr_assert_str_eq(note_of(&model, "pool_count"), "40");
    cr_assert_str_eq(note_of(&model, "mechanism"), "laplace");
    cr_assert_str_eq(note_of(&model, "scale"), "0.5");
    cr_assert_str_eq(note_of(&model, "transform"), "none");
    cr_assert_str_eq(note_of(&model, "steps_done"), "13");
    cr_assert_not_null(strstr(note_of(&model, "settings"), "\"steps\":13"));
    provenance.campaign_hash = "ab";
    provenance.revision = 3;
    provenance.epsilon = 4.96875;
    provenance.delta = 0;
    provenance.transform = DPOT_TRANSFORM_DCT;
    cr_assert_eq(provenance_note(&provenance, &model, NULL), DPOT_OK);
    cr_assert_str_eq(note_of(&model, "epsilon"), "4.96875");
    cr_assert_str_eq(note_of(&model, "delta"), "0");
    cr_assert_str_eq(note_of(&model, "campaign_hash"), "ab");
    cr_assert_str_eq(note_of(&model, "revision"), "3");
    cr_assert_str_eq(note_of(&model, "transform"), "dct");
    model.network = NULL;
    generator_model_release(&model);
    training_release(&training);
    case_release(&made);
}
