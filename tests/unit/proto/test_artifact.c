/* Artifacts: one artifact, one byte string, one digest. */
#include "fixture.h"
#include "handmade.h"
#include "proto/wire_artifact.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(artifact, .init = start_proto_suite);

#define N_VALUES 5
#define N_MODEL 11

/* All fields have different values. */
static void make_artifact(struct dpot_artifact *artifact)
{
    *artifact = (struct dpot_artifact){.kind = "base-measure",
                                       .program_version = "1.2.3",
                                       .revision = 3,
                                       .has_pool = true,
                                       .pool_count = 812,
                                       .parameters = "{\"gap\":1e-06}"};
    memset(artifact->campaign_hash, 7, sizeof artifact->campaign_hash);
    memset(artifact->pool_checksum, 9, sizeof artifact->pool_checksum);
    artifact->values = dpot_alloc_array(NULL, N_VALUES, sizeof *artifact->values);
    artifact->counts = dpot_alloc_array(NULL, N_VALUES, sizeof *artifact->counts);
    artifact->n_values = artifact->n_counts = N_VALUES;
    for (size_t i = 0; i < N_VALUES; i++) {
        artifact->values[i] = 0.1 * (double)i - 0.2;
        artifact->counts[i] = (uint64_t)1 << (15 * i);
    }
    artifact->model = dpot_alloc_array(NULL, N_MODEL, 1);
    artifact->n_model = N_MODEL;
    memset(artifact->model, 0xa5, N_MODEL);
    cr_assert_eq(dpot_artifact_add_number(artifact, "objective", 1.0 / 3), DPOT_OK);
    cr_assert_eq(dpot_artifact_add_number(artifact, "zero", 0), DPOT_OK);
}

static struct dpot_buf encode(const struct dpot_artifact *artifact)
{
    struct dpot_buf bytes;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_artifact_encode(artifact, &bytes, &error), DPOT_OK, "%s", error.text);
    return bytes;
}

static struct dpot_buf encode_sample(void)
{
    struct dpot_artifact artifact;
    make_artifact(&artifact);
    const struct dpot_buf bytes = encode(&artifact);
    dpot_artifact_release(&artifact);
    return bytes;
}

static void expect_same(const struct dpot_artifact *a, const struct dpot_artifact *b)
{
    cr_assert_str_eq(a->kind, b->kind);
    cr_assert_str_eq(a->program_version, b->program_version);
    cr_assert_str_eq(a->parameters, b->parameters);
    cr_assert_arr_eq(a->campaign_hash, b->campaign_hash, DPOT_HASH_LEN);
    cr_assert_eq(a->revision, b->revision);
    cr_assert_eq(a->has_pool, b->has_pool);
    cr_assert_eq(a->pool_count, b->pool_count);
    cr_assert_arr_eq(a->pool_checksum, b->pool_checksum, DPOT_HASH_LEN);
    cr_assert_eq(a->n_values, b->n_values);
    cr_assert_arr_eq(a->values, b->values, a->n_values * sizeof *a->values);
    cr_assert_eq(a->n_counts, b->n_counts);
    cr_assert_arr_eq(a->counts, b->counts, a->n_counts * sizeof *a->counts);
    cr_assert_eq(a->n_model, b->n_model);
    cr_assert_arr_eq(a->model, b->model, a->n_model);
    cr_assert_eq(a->n_numbers, b->n_numbers);
    for (size_t i = 0; i < a->n_numbers; i++) {
        cr_assert_str_eq(a->numbers[i].name, b->numbers[i].name);
        cr_assert_arr_eq(&a->numbers[i].value, &b->numbers[i].value, sizeof(double));
    }
}

Test(artifact, every_field_survives_the_round_trip)
{
    struct dpot_artifact artifact, decoded;
    struct dpot_error error = {""};
    make_artifact(&artifact);
    struct dpot_buf bytes = encode(&artifact);
    cr_assert_eq(dpot_wire_artifact_decode(bytes.data, bytes.len, NULL, &decoded, &error), DPOT_OK,
                 "%s", error.text);
    expect_same(&artifact, &decoded);
    struct dpot_buf again = encode(&decoded);
    cr_assert_eq(again.len, bytes.len);
    cr_assert_arr_eq(again.data, bytes.data, bytes.len);
    dpot_buf_release(&again);
    dpot_buf_release(&bytes);
    dpot_artifact_release(&decoded);
    dpot_artifact_release(&artifact);
}

Test(artifact, one_without_pool_values_and_numbers_survives_too)
{
    struct dpot_artifact decoded, artifact = {.kind = "any", .parameters = "{}"};
    struct dpot_buf bytes = encode(&artifact);
    cr_assert_eq(dpot_wire_artifact_decode(bytes.data, bytes.len, NULL, &decoded, NULL), DPOT_OK);
    cr_assert_not(decoded.has_pool);
    cr_assert_eq(decoded.n_values, 0);
    cr_assert_eq(decoded.n_numbers, 0);
    cr_assert_eq(decoded.n_model, 0);
    cr_assert_null(decoded.model);
    dpot_artifact_release(&decoded);
    dpot_buf_release(&bytes);
}

Test(artifact, a_number_is_found_by_its_name)
{
    struct dpot_artifact artifact;
    double value = -1;
    make_artifact(&artifact);
    cr_assert_eq(dpot_artifact_find_number(&artifact, "absent", &value), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(value, -1);
    cr_assert_eq(dpot_artifact_find_number(&artifact, "objective", &value), DPOT_OK);
    cr_assert_eq(value, 1.0 / 3);
    dpot_artifact_release(&artifact);
}

Test(artifact, more_numbers_than_there_is_room_for_are_refused)
{
    struct dpot_artifact artifact = {.n_numbers = 0};
    for (int i = 0; i < DPOT_ARTIFACT_NUMBERS_MAX; i++) {
        cr_assert_eq(dpot_artifact_add_number(&artifact, "n", i), DPOT_OK);
    }
    cr_assert_eq(dpot_artifact_add_number(&artifact, "n", 0), DPOT_ERR_TOO_LARGE);
    artifact.n_numbers = 0;
    cr_assert_eq(dpot_artifact_add_number(&artifact, "a-name-of-more-than-thirty-two-bytes", 0),
                 DPOT_ERR_TOO_LARGE);
}

static void refuse_encoding(struct dpot_artifact *artifact, const char *word)
{
    struct dpot_buf bytes;
    struct dpot_error error = {""};
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_artifact_encode(artifact, &bytes, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
    cr_assert_eq(bytes.len, 0);
    dpot_buf_release(&bytes);
}

Test(artifact, what_is_not_finite_or_not_a_word_is_never_written)
{
    struct dpot_artifact artifact;
    make_artifact(&artifact);
    artifact.values[3] = NAN;
    refuse_encoding(&artifact, "value 3");
    artifact.values[3] = 0;
    artifact.numbers[1].value = INFINITY;
    refuse_encoding(&artifact, "zero");
    artifact.numbers[1].value = 0;
    artifact.numbers[1].name[0] = 'Z';
    refuse_encoding(&artifact, "name of a number");
    artifact.numbers[1].name[0] = 'z';
    artifact.parameters[0] = '\n';
    refuse_encoding(&artifact, "parameters");
    artifact.parameters[0] = '{';
    artifact.kind[0] = '\0';
    refuse_encoding(&artifact, "kind");
    dpot_artifact_release(&artifact);
}

Test(artifact, a_model_that_is_too_large_is_never_written)
{
    struct dpot_artifact artifact = {.kind = "any", .parameters = "{}"};
    struct dpot_buf bytes;
    struct dpot_error error = {""};
    uint8_t byte = 0;
    artifact.model = &byte;
    artifact.n_model = DPOT_ARTIFACT_MODEL_MAX + 1;
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_artifact_encode(&artifact, &bytes, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "model has 62914561 bytes"), "%s", error.text);
    dpot_buf_release(&bytes);
}

/* Trailing fields may be omitted, so a cut between two of them gives another valid artifact, with
 * another digest. */
Test(artifact, a_cut_artifact_is_refused_or_another_one)
{
    static const struct dpot_artifact empty;
    struct dpot_buf bytes = encode_sample();
    size_t n_refused = 0;
    for (size_t len = 0; len < bytes.len; len++) {
        struct dpot_artifact decoded;
        struct dpot_error error = {""};
        if (dpot_wire_artifact_decode(bytes.data, len, NULL, &decoded, &error) == DPOT_OK) {
            struct dpot_buf again = encode(&decoded);
            cr_assert_eq(again.len, len);
            dpot_buf_release(&again);
        } else {
            n_refused++;
            cr_assert_neq(error.text[0], '\0');
            cr_assert_arr_eq(&decoded, &empty, sizeof empty);
        }
        dpot_artifact_release(&decoded);
    }
    cr_assert_gt(n_refused, bytes.len - 12);
    dpot_buf_release(&bytes);
}

/* Any flipped bit gives a refusal, or another artifact with other bytes, never a crash. */
Test(artifact, an_altered_bit_gives_no_second_spelling)
{
    struct dpot_buf bytes = encode_sample();
    for (size_t i = 0; i < bytes.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            struct dpot_artifact decoded;
            bytes.data[i] ^= (uint8_t)(1 << bit);
            if (dpot_wire_artifact_decode(bytes.data, bytes.len, NULL, &decoded, NULL) == DPOT_OK) {
                struct dpot_buf again = encode(&decoded);
                cr_assert_eq(again.len, bytes.len);
                cr_assert_arr_eq(again.data, bytes.data, bytes.len);
                dpot_buf_release(&again);
            }
            dpot_artifact_release(&decoded);
            bytes.data[i] ^= (uint8_t)(1 << bit);
        }
    }
    dpot_buf_release(&bytes);
}

static void refuse_bytes(const struct dpot_buf *bytes, dpot_status expected, const char *word)
{
    struct dpot_artifact decoded;
    struct dpot_error error = {""};
    const dpot_status status =
        dpot_wire_artifact_decode(bytes->data, bytes->len, NULL, &decoded, &error);
    cr_assert_eq(status, expected, "%s: %s", dpot_status_name(status), error.text);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
}

Test(artifact, unknown_fields_and_versions_are_refused_by_name)
{
    struct dpot_buf bytes = encode_sample();
    put_number(&bytes, 99, 1);
    refuse_bytes(&bytes, DPOT_ERR_VERSION, "Artifact has field 99");
    dpot_buf_release(&bytes);

    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    put_number(&bytes, 1, 2);
    refuse_bytes(&bytes, DPOT_ERR_VERSION, "version 2");
    dpot_buf_release(&bytes);
}

Test(artifact, hostile_lengths_are_refused)
{
    static const uint8_t hash[DPOT_HASH_LEN];
    static char text[DPOT_ARTIFACT_PARAMETERS_MAX + 2];
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    put_number(&bytes, 1, 1);
    put_bytes(&bytes, 2, "any", 3);
    put_bytes(&bytes, 4, hash, sizeof hash - 1);
    refuse_bytes(&bytes, DPOT_ERR_MALFORMED, "31 bytes");
    dpot_buf_reset(&bytes);

    memset(text, 'x', sizeof text - 1);
    put_number(&bytes, 1, 1);
    put_bytes(&bytes, 2, text, 33);
    put_bytes(&bytes, 4, hash, sizeof hash);
    refuse_bytes(&bytes, DPOT_ERR_TOO_LARGE, "kind");
    dpot_buf_reset(&bytes);

    put_number(&bytes, 1, 1);
    put_bytes(&bytes, 2, "any", 3);
    put_bytes(&bytes, 4, hash, sizeof hash);
    for (int i = 0; i <= DPOT_ARTIFACT_NUMBERS_MAX; i++) {
        put_bytes(&bytes, 9, "\x0a\x01n", 3);
    }
    refuse_bytes(&bytes, DPOT_ERR_TOO_LARGE, "33 numbers");
    dpot_buf_release(&bytes);
}

Test(artifact, without_memory_nothing_is_left_behind)
{
    struct dpot_buf bytes = encode_sample();
    for (size_t n = 1;; n++) {
        struct test_allocator heap;
        struct dpot_artifact decoded;
        test_allocator_init(&heap);
        test_allocator_fail_at(&heap, n);
        const dpot_status status =
            dpot_wire_artifact_decode(bytes.data, bytes.len, &heap.allocator, &decoded, NULL);
        dpot_artifact_release(&decoded);
        cr_assert_eq(heap.bytes, 0);
        if (status == DPOT_OK) {
            cr_assert_gt(n, 2);
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
    }
    dpot_buf_release(&bytes);
}
