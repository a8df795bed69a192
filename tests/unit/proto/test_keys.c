#include "fixture.h"
#include "handmade.h"
#include "proto/wire_inner.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(keys_wire, .init = start_proto_suite);

static void make_keys(struct dpot_keys *keys, size_t n)
{
    uint8_t secret_key[DPOT_SEAL_SECRET_LEN];
    *keys = (struct dpot_keys){.n_seal_keys = n};
    for (size_t i = 0; i < n; i++) {
        const int64_t start = (int64_t)i * 100000;
        make_seal_key(&keys->seal_keys[i], secret_key, start, start + 150000);
    }
}

static void expect_same_keys(const struct dpot_keys *a, const struct dpot_keys *b)
{
    cr_assert_eq(a->n_seal_keys, b->n_seal_keys);
    for (size_t i = 0; i < a->n_seal_keys; i++) {
        const struct dpot_seal_key *x = &a->seal_keys[i], *y = &b->seal_keys[i];
        cr_assert_arr_eq(x->id, y->id, sizeof x->id);
        cr_assert_arr_eq(x->public_key, y->public_key, sizeof x->public_key);
        cr_assert_eq(x->not_before_ms, y->not_before_ms);
        cr_assert_eq(x->not_after_ms, y->not_after_ms);
    }
}

Test(keys_wire, none_one_and_sixteen_keys_survive_the_round_trip)
{
    const size_t counts[] = {0, 1, 2, DPOT_SEAL_KEYS_MAX};
    struct signer signer;
    make_signer(&signer);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct dpot_keys keys, opened;
        struct dpot_buf out;
        struct dpot_error error = {""};
        make_keys(&keys, counts[i]);
        dpot_buf_init(&out, DPOT_KEYS_BYTES_MAX, NULL);
        cr_assert_eq(dpot_wire_keys_sign(&keys, signer.secret_key, &out, &error), DPOT_OK);
        cr_assert_eq(
            dpot_wire_keys_open(out.data, out.len, signer.public_key, NULL, &opened, &error),
            DPOT_OK, "%s", error.text);
        expect_same_keys(&keys, &opened);
        dpot_buf_release(&out);
    }
}

Test(keys_wire, any_altered_bit_and_any_other_length_is_refused)
{
    static const struct dpot_keys empty;
    struct signer signer;
    struct dpot_keys keys, opened;
    struct dpot_buf out;
    make_signer(&signer);
    make_keys(&keys, 2);
    dpot_buf_init(&out, DPOT_KEYS_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_keys_sign(&keys, signer.secret_key, &out, NULL), DPOT_OK);
    for (size_t i = 0; i < out.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            out.data[i] ^= (uint8_t)(1 << bit);
            cr_assert_neq(
                dpot_wire_keys_open(out.data, out.len, signer.public_key, NULL, &opened, NULL),
                DPOT_OK, "byte %zu bit %d", i, bit);
            cr_assert_arr_eq(&opened, &empty, sizeof empty);
            out.data[i] ^= (uint8_t)(1 << bit);
        }
        cr_assert_neq(dpot_wire_keys_open(out.data, i, signer.public_key, NULL, &opened, NULL),
                      DPOT_OK, "%zu bytes", i);
    }
    dpot_buf_release(&out);
}

Test(keys_wire, another_signer_or_another_purpose_is_refused)
{
    struct signer signer, other;
    struct dpot_keys keys, opened;
    struct dpot_buf content, out;
    uint8_t signature[DPOT_SIGNATURE_LEN];
    make_signer(&signer);
    make_signer(&other);
    make_keys(&keys, 1);
    dpot_buf_init(&content, DPOT_KEYS_BYTES_MAX, NULL);
    dpot_buf_init(&out, DPOT_KEYS_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_keys_sign(&keys, other.secret_key, &out, NULL), DPOT_OK);
    cr_assert_eq(dpot_wire_keys_open(out.data, out.len, signer.public_key, NULL, &opened, NULL),
                 DPOT_ERR_SIGNATURE);

    dpot_buf_reset(&out);
    cr_assert_eq(dpot_wire_keys_encode(&keys, &content, NULL), DPOT_OK);
    cr_assert_eq(dpot_sign(signature, "dpot.campaign.v1", sizeof "dpot.campaign.v1", content.data,
                           content.len, signer.secret_key),
                 DPOT_OK);
    put_bytes(&out, 1, content.data, content.len);
    put_bytes(&out, 2, signer.public_key, sizeof signer.public_key);
    put_bytes(&out, 3, signature, sizeof signature);
    cr_assert_eq(dpot_wire_keys_open(out.data, out.len, signer.public_key, NULL, &opened, NULL),
                 DPOT_ERR_SIGNATURE);
    dpot_buf_release(&content);
    dpot_buf_release(&out);
}

Test(keys_wire, what_would_not_open_is_not_signed)
{
    struct dpot_keys keys;
    struct dpot_buf out;
    struct dpot_error error = {""};
    dpot_buf_init(&out, DPOT_KEYS_BYTES_MAX, NULL);
    make_keys(&keys, 2);
    keys.seal_keys[1].id[0] ^= 1;
    cr_assert_eq(dpot_wire_keys_encode(&keys, &out, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "seal key 1"));
    make_keys(&keys, 1);
    keys.seal_keys[0].not_after_ms = keys.seal_keys[0].not_before_ms;
    cr_assert_eq(dpot_wire_keys_encode(&keys, &out, &error), DPOT_ERR_MALFORMED);
    make_keys(&keys, 1);
    keys.seal_keys[0].not_after_ms += 1;
    cr_assert_eq(dpot_wire_keys_encode(&keys, &out, &error), DPOT_ERR_MALFORMED);
    keys.n_seal_keys = DPOT_SEAL_KEYS_MAX + 1;
    cr_assert_eq(dpot_wire_keys_encode(&keys, &out, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(out.len, 0);
}

/* One SealKey by hand, in ways that the encoder never writes. */
struct seal_key_shape {
    size_t id_len;
    size_t key_len;
    int64_t not_before;
    int64_t not_after;
    bool with_unknown;
    bool with_other_id;
};

static dpot_status decode_shape(const struct seal_key_shape *shape, uint32_t version, size_t n,
                                struct dpot_error *error)
{
    struct dpot_keys keys;
    struct dpot_buf inner, bytes;
    uint8_t public_key[DPOT_SEAL_PUBLIC_LEN] = {9}, id[DPOT_SEAL_KEY_ID_LEN];
    dpot_buf_init(&inner, BYTES_MAX, NULL);
    dpot_buf_init(&bytes, BYTES_MAX, NULL);
    dpot_seal_key_id(public_key, id);
    id[3] ^= (uint8_t)shape->with_other_id;
    put_bytes(&inner, 1, id, shape->id_len);
    put_bytes(&inner, 2, public_key, shape->key_len);
    put_number(&inner, 3, (uint64_t)shape->not_before);
    put_number(&inner, 4, (uint64_t)shape->not_after);
    if (shape->with_unknown) {
        put_number(&inner, 5, 1);
    }
    put_number(&bytes, 1, version);
    for (size_t i = 0; i < n; i++) {
        put_bytes(&bytes, 2, inner.data, inner.len);
    }
    const dpot_status status = dpot_wire_keys_decode(bytes.data, bytes.len, NULL, &keys, error);
    dpot_buf_release(&inner);
    dpot_buf_release(&bytes);
    return status;
}

Test(keys_wire, misshapen_seal_keys_are_refused)
{
    struct dpot_error error = {""};
    const struct seal_key_shape good = {8, 32, 1, 2, false, false};
    const struct seal_key_shape bad[] = {
        {7, 32, 1, 2, false, false},         {8, 31, 1, 2, false, false},
        {8, 32, 2, 2, false, false},         {8, 32, 3, 2, false, false},
        {8, 32, 1, INT64_MAX, false, false}, {8, 32, INT64_MIN, 2, false, false},
        {8, 32, 1, 2, false, true},          {8, 32, 0, 2, false, false} /* 0 written out */};
    cr_assert_eq(decode_shape(&good, 1, 1, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(decode_shape(&good, 1, DPOT_SEAL_KEYS_MAX, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(decode_shape(&good, 1, DPOT_SEAL_KEYS_MAX + 1, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(decode_shape(&good, 2, 1, &error), DPOT_ERR_VERSION);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(decode_shape(&bad[i], 1, 1, &error), DPOT_ERR_MALFORMED, "case %zu", i);
    }
    const struct seal_key_shape unknown = {8, 32, 1, 2, true, false};
    cr_assert_eq(decode_shape(&unknown, 1, 1, &error), DPOT_ERR_VERSION);
    cr_assert_not_null(strstr(error.text, "SealKey has field 5,"), "%s", error.text);
}

Test(keys_wire, the_current_key_is_the_valid_one_that_lasts_longest)
{
    struct dpot_keys keys;
    make_keys(&keys, 3); /* [0, 150), [100, 250), [200, 350) s */
    cr_assert_null(dpot_keys_current(&keys, -1));
    cr_assert_eq(dpot_keys_current(&keys, 0), &keys.seal_keys[0]);
    cr_assert_eq(dpot_keys_current(&keys, 99999), &keys.seal_keys[0]);
    cr_assert_eq(dpot_keys_current(&keys, 100000), &keys.seal_keys[1]);
    cr_assert_eq(dpot_keys_current(&keys, 349999), &keys.seal_keys[2]);
    cr_assert_null(dpot_keys_current(&keys, 350000));
    keys.n_seal_keys = 0;
    cr_assert_null(dpot_keys_current(&keys, 0));
}

Test(keys_wire, signing_and_opening_survive_every_failed_allocation)
{
    struct signer signer;
    struct dpot_keys keys, opened;
    make_signer(&signer);
    make_keys(&keys, 3);
    for (size_t n = 1;; n++) {
        struct test_allocator heap;
        struct dpot_buf out;
        test_allocator_init(&heap);
        test_allocator_fail_at(&heap, n);
        dpot_buf_init(&out, DPOT_KEYS_BYTES_MAX, &heap.allocator);
        dpot_status status = dpot_wire_keys_sign(&keys, signer.secret_key, &out, NULL);
        if (status == DPOT_OK) {
            status = dpot_wire_keys_open(out.data, out.len, signer.public_key, &heap.allocator,
                                         &opened, NULL);
        }
        dpot_buf_release(&out);
        cr_assert_eq(heap.bytes, 0);
        if (status == DPOT_OK) {
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
    }
}
