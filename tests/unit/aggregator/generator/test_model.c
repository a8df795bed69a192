#include "generator/model.h"

#include "models.h"
#include "proto/wire_onnx.h"
#include "support/allocator.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct kind {
    const char *architecture;
    size_t dim;
    enum network_bound bound;
};

static const struct kind kinds[] = {
    {"mlp:8,6", 3, NETWORK_UNBOUNDED},   {"mlp", 2, NETWORK_SIGMOID},
    {"dcgan28:4", 784, NETWORK_TANH},    {"dcgan28:2", 784, NETWORK_UNBOUNDED},
    {"resize28:4,3", 784, NETWORK_TANH}, {"resize28:2,2,5", 784, NETWORK_UNBOUNDED},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static void make_bytes(const struct kind *kind, struct dpot_buf *bytes)
{
    struct generator_model model;
    struct dpot_error error = {""};
    model_make(kind->architecture, kind->dim, kind->bound, &model);
    cr_assert_eq(generator_model_note(&model, "epsilon", "5", &error), DPOT_OK);
    cr_assert_eq(generator_model_note(&model, "mechanism", "laplace", &error), DPOT_OK);
    dpot_buf_init(bytes, DPOT_ONNX_BYTES_MAX, NULL);
    cr_assert_eq(generator_model_encode(&model, bytes, &error), DPOT_OK, "%s", error.text);
    generator_model_release(&model);
}

Test(generator_model, comes_back_from_its_file_with_every_bit)
{
    folder_make();
    for (size_t i = 0; i < N_KINDS; i++) {
        struct generator_model model, again;
        struct dpot_error error = {""};
        model_make(kinds[i].architecture, kinds[i].dim, kinds[i].bound, &model);
        cr_assert_eq(generator_model_note(&model, "pool", "4f", &error), DPOT_OK);
        cr_assert_eq(generator_model_save(&model, folder_path("m.onnx"), &error), DPOT_OK, "%s",
                     error.text);
        cr_assert_eq(generator_model_load(folder_path("m.onnx"), &model_setup, &again, &error),
                     DPOT_OK, "%s", error.text);
        cr_assert_str_eq(network_architecture(again.network)->name,
                         network_architecture(model.network)->name);
        cr_assert_arr_eq(network_parameters(model.network), network_parameters(again.network),
                         network_n_parameters(model.network) * sizeof(float));
        cr_assert_arr_eq(network_state(model.network), network_state(again.network),
                         network_n_state(model.network) * sizeof(float));
        cr_assert_str_eq(generator_model_find_note(&again, "pool"), "4f");
        generator_model_release(&model);
        generator_model_release(&again);
    }
    folder_remove();
}

Test(generator_model, more_points_begin_with_the_same_ones)
{
    static float few[300 * 3], many[700 * 3];
    struct generator_model model;
    model_make("mlp:8", 3, NETWORK_TANH, &model);
    cr_assert_eq(generator_model_sample(&model, 7, 300, few), DPOT_OK);
    cr_assert_eq(generator_model_sample(&model, 7, 700, many), DPOT_OK);
    cr_assert_arr_eq(few, many, sizeof(float) * 256 * 3);
    cr_assert_eq(generator_model_sample(&model, 8, 300, many), DPOT_OK);
    cr_assert_arr_neq(few, many, sizeof few);
    generator_model_release(&model);
}

Test(generator_model, every_shorter_file_is_refused_with_a_sentence)
{
    struct dpot_buf bytes;
    make_bytes(&kinds[1], &bytes);
    for (size_t len = 0; len < bytes.len; len++) {
        struct generator_model model;
        struct dpot_error error = {""};
        cr_assert_lt(generator_model_decode(bytes.data, len, &model_setup, &model, &error), 0);
        cr_assert_null(model.network);
        cr_assert_neq(error.text[0], '\0', "%zu", len);
    }
    dpot_buf_release(&bytes);
}

/* A changed byte gives another valid model (a weight, a note), or a refusal. */
Test(generator_model, a_changed_byte_is_refused_or_gives_the_model_of_those_bytes)
{
    struct dpot_buf bytes, again;
    size_t n_refused = 0, n_accepted = 0;
    make_bytes(&kinds[1], &bytes);
    dpot_buf_init(&again, DPOT_ONNX_BYTES_MAX, NULL);
    for (size_t i = 0; i < 8 * bytes.len; i++) {
        struct generator_model model;
        struct dpot_error error = {""};
        bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
        if (generator_model_decode(bytes.data, bytes.len, &model_setup, &model, &error) ==
            DPOT_OK) {
            dpot_buf_reset(&again);
            cr_assert_eq(generator_model_encode(&model, &again, &error), DPOT_OK);
            cr_assert(again.len == bytes.len && memcmp(again.data, bytes.data, again.len) == 0);
            n_accepted++;
        } else {
            cr_assert_neq(error.text[0], '\0');
            n_refused++;
        }
        generator_model_release(&model);
        bytes.data[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    cr_assert(n_refused > 2000 && n_accepted > 200, "%zu, %zu", n_refused, n_accepted);
    dpot_buf_release(&bytes);
    dpot_buf_release(&again);
}

Test(generator_model, a_weight_that_is_not_finite_is_refused)
{
    struct generator_model model, again;
    struct dpot_error error = {""};
    struct dpot_buf bytes;
    model_make("mlp:4", 2, NETWORK_UNBOUNDED, &model);
    network_parameters(model.network)[3] = NAN;
    dpot_buf_init(&bytes, DPOT_ONNX_BYTES_MAX, NULL);
    cr_assert_eq(generator_model_encode(&model, &bytes, &error), DPOT_OK);
    cr_assert_eq(generator_model_decode(bytes.data, bytes.len, &model_setup, &again, &error),
                 DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "not finite"));
    dpot_buf_release(&bytes);
    generator_model_release(&model);
}

Test(generator_model, a_classifier_is_not_saved_as_a_generator)
{
    struct generator_model model = {0};
    struct dpot_error error = {""};
    struct dpot_buf bytes;
    const struct network_config config = {
        .architecture = "conv28:2,2,4", .latent_dim = 784, .dim = 10, .max_batch = 1};
    cr_assert_eq(network_new(&config, &model.network, &error), DPOT_OK);
    dpot_buf_init(&bytes, DPOT_ONNX_BYTES_MAX, NULL);
    cr_assert_eq(generator_model_encode(&model, &bytes, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "dcgan28"));
    cr_assert_eq(bytes.len, 0);
    generator_model_release(&model);
}

Test(generator_model, notes_are_short_texts_under_unique_keys)
{
    struct generator_model model;
    struct dpot_error error = {""};
    static char too_long[GENERATOR_VALUE_MAX + 2];
    memset(too_long, 'x', sizeof too_long - 1);
    model_make("mlp", 2, NETWORK_UNBOUNDED, &model);
    cr_assert_eq(generator_model_note(&model, "dpot.dim", "3", &error), DPOT_ERR_RANGE);
    cr_assert_eq(generator_model_note(&model, "", "3", &error), DPOT_ERR_RANGE);
    cr_assert_eq(generator_model_note(&model, "a\nb", "3", &error), DPOT_ERR_RANGE);
    cr_assert_eq(generator_model_note(&model, "a", too_long, &error), DPOT_ERR_RANGE);
    cr_assert_eq(generator_model_note(&model, "a", "1", &error), DPOT_OK);
    cr_assert_eq(generator_model_note(&model, "a", "22", &error), DPOT_OK);
    cr_assert_str_eq(generator_model_find_note(&model, "a"), "22");
    cr_assert_eq(model.n_notes, 1);
    cr_assert_null(generator_model_find_note(&model, "b"));
    for (int i = 1; i < GENERATOR_NOTES_MAX; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%d", i);
        cr_assert_eq(generator_model_note(&model, key, "", &error), DPOT_OK);
    }
    cr_assert_eq(generator_model_note(&model, "one more", "", &error), DPOT_ERR_TOO_LARGE);
    generator_model_release(&model);
}

Test(generator_model, a_missing_file_is_named)
{
    struct generator_model model;
    struct dpot_error error = {""};
    folder_make();
    cr_assert_eq(generator_model_load(folder_path("none.onnx"), &model_setup, &model, &error),
                 DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "none.onnx"));
    (void)folder_write("text", "hello", 5);
    cr_assert_eq(generator_model_load(folder_path("text"), &model_setup, &model, &error),
                 DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "text: "));
    folder_remove();
}

Test(generator_model, leaks_nothing_when_memory_runs_out)
{
    struct dpot_buf bytes;
    struct test_allocator heap;
    make_bytes(&kinds[0], &bytes);
    test_allocator_init(&heap);
    const struct generator_setup setup = {.max_batch = 2, .allocator = &heap.allocator};
    dpot_status status = DPOT_ERR_MEMORY;
    for (size_t at = 1; status != DPOT_OK; at++) {
        struct generator_model model;
        cr_assert_lt(at, 100);
        test_allocator_fail_at(&heap, at);
        status = generator_model_decode(bytes.data, bytes.len, &setup, &model, NULL);
        cr_assert(status == DPOT_OK || status == DPOT_ERR_MEMORY, "%d", status);
        generator_model_release(&model);
        cr_assert_eq(heap.bytes, 0);
    }
    dpot_buf_release(&bytes);
}
