#include "fixture.h"
#include "handmade.h"
#include "proto/wire_campaign.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <string.h>

/* A signed 2 x 3 campaign and the key that signed it. */
static struct signer signer;
static struct dpot_buf plain;  /* Campaign */
static struct dpot_buf sealed; /* SignedCampaign */

static void sign_campaign(void)
{
    struct dpot_campaign campaign;
    struct dpot_error error = {""};
    start_proto_suite();
    make_signer(&signer);
    make_grid_campaign(&campaign, NULL);
    dpot_buf_init(&plain, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    dpot_buf_init(&sealed, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &plain), DPOT_OK);
    cr_assert_eq(dpot_wire_campaign_sign(plain.data, plain.len, signer.secret_key, &sealed, &error),
                 DPOT_OK, "%s", error.text);
    dpot_campaign_release(&campaign);
}

static void release_campaign(void)
{
    dpot_buf_release(&plain);
    dpot_buf_release(&sealed);
}

TestSuite(signed_campaign, .init = sign_campaign, .fini = release_campaign);

static dpot_status open_bytes(const void *data, size_t len, const uint8_t *pin,
                              struct dpot_error *error)
{
    static const struct dpot_signed_campaign empty;
    struct dpot_signed_campaign opened;
    const dpot_status status = dpot_wire_campaign_open(data, len, pin, NULL, &opened, error);
    if (status != DPOT_OK) {
        cr_assert_arr_eq(&opened, &empty, sizeof empty);
    }
    dpot_signed_campaign_release(&opened);
    return status;
}

Test(signed_campaign, opens_under_its_pin_with_hash_and_signer)
{
    struct dpot_campaign campaign;
    struct dpot_signed_campaign opened;
    uint8_t hash[DPOT_HASH_LEN];
    make_grid_campaign(&campaign, NULL);
    cr_assert_eq(
        dpot_wire_campaign_open(sealed.data, sealed.len, signer.public_key, NULL, &opened, NULL),
        DPOT_OK);
    expect_same_campaign(&campaign, &opened.campaign);
    dpot_hash(hash, plain.data, plain.len);
    cr_assert_arr_eq(opened.hash, hash, sizeof hash);
    cr_assert_arr_eq(opened.signer, signer.public_key, sizeof signer.public_key);
    dpot_signed_campaign_release(&opened);
    cr_assert_eq(open_bytes(sealed.data, sealed.len, NULL, NULL), DPOT_OK);
    dpot_campaign_release(&campaign);
}

Test(signed_campaign, another_pin_is_refused_and_both_keys_named)
{
    struct signer other;
    struct dpot_error error = {""};
    char hex[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    make_signer(&other);
    cr_assert_eq(open_bytes(sealed.data, sealed.len, other.public_key, &error), DPOT_ERR_SIGNATURE);
    dpot_hex_encode(hex, other.public_key, sizeof other.public_key);
    cr_assert_not_null(strstr(error.text, hex));
    dpot_hex_encode(hex, signer.public_key, sizeof signer.public_key);
    cr_assert_not_null(strstr(error.text, hex));
}

Test(signed_campaign, any_altered_bit_is_refused)
{
    for (size_t i = 0; i < sealed.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            sealed.data[i] ^= (uint8_t)(1 << bit);
            cr_assert_neq(open_bytes(sealed.data, sealed.len, signer.public_key, NULL), DPOT_OK,
                          "byte %zu bit %d", i, bit);
            cr_assert_neq(open_bytes(sealed.data, sealed.len, NULL, NULL), DPOT_OK,
                          "byte %zu bit %d without pin", i, bit);
            sealed.data[i] ^= (uint8_t)(1 << bit);
        }
    }
}

Test(signed_campaign, any_shorter_or_longer_text_is_refused)
{
    for (size_t len = 0; len < sealed.len; len++) {
        cr_assert_neq(open_bytes(sealed.data, len, signer.public_key, NULL), DPOT_OK, "%zu bytes",
                      len);
    }
    put_raw(&sealed, "\0", 1);
    cr_assert_neq(open_bytes(sealed.data, sealed.len, signer.public_key, NULL), DPOT_OK);
}

/* Builds an envelope by hand, with a signature made under `prefix`. */
static void seal_by_hand(struct dpot_buf *out, const char *prefix, size_t prefix_len,
                         size_t key_len, size_t signature_len, bool add_unknown, bool swap)
{
    uint8_t signature[DPOT_SIGNATURE_LEN];
    cr_assert_eq(dpot_sign(signature, prefix, prefix_len, plain.data, plain.len, signer.secret_key),
                 DPOT_OK);
    put_bytes(out, 1, plain.data, plain.len);
    if (swap) {
        put_bytes(out, 3, signature, signature_len);
    }
    put_bytes(out, 2, signer.public_key, key_len);
    if (!swap) {
        put_bytes(out, 3, signature, signature_len);
    }
    if (add_unknown) {
        put_number(out, 4, 1);
    }
}

static const char prefix[] = "dpot.campaign.v1";

Test(signed_campaign, the_signature_covers_the_prefix_with_its_nul)
{
    static const char *const prefixes[] = {"dpot.campaign.v1", "dpot.campaign.v2", "dpot.keys.v1"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t with_nul = 0; with_nul < 2; with_nul++) {
            struct dpot_buf out;
            dpot_buf_init(&out, BYTES_MAX, NULL);
            seal_by_hand(&out, prefixes[i], strlen(prefixes[i]) + with_nul, DPOT_SIGN_PUBLIC_LEN,
                         DPOT_SIGNATURE_LEN, false, false);
            const bool is_right = i == 0 && with_nul == 1;
            cr_assert_eq(open_bytes(out.data, out.len, signer.public_key, NULL),
                         is_right ? DPOT_OK : DPOT_ERR_SIGNATURE);
            dpot_buf_release(&out);
        }
    }
}

static dpot_status open_by_hand(size_t key_len, size_t signature_len, bool add_unknown, bool swap,
                                struct dpot_error *error)
{
    struct dpot_buf out;
    dpot_buf_init(&out, BYTES_MAX, NULL);
    seal_by_hand(&out, prefix, sizeof prefix, key_len, signature_len, add_unknown, swap);
    const dpot_status status = open_bytes(out.data, out.len, signer.public_key, error);
    dpot_buf_release(&out);
    return status;
}

Test(signed_campaign, a_misshapen_envelope_is_refused_although_its_signature_fits)
{
    struct dpot_error error = {""};
    cr_assert_eq(open_by_hand(32, 64, false, false, &error), DPOT_OK);
    cr_assert_eq(open_by_hand(31, 64, false, false, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "key_id has 31 bytes"));
    cr_assert_eq(open_by_hand(32, 63, false, false, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "signature has 63 bytes"));
    cr_assert_eq(open_by_hand(0, 0, false, false, &error), DPOT_ERR_MALFORMED);
    cr_assert_eq(open_by_hand(32, 64, true, false, &error), DPOT_ERR_VERSION);
    cr_assert_not_null(strstr(error.text, "SignedCampaign has field 4,"));
    cr_assert_eq(open_by_hand(32, 64, false, true, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "canonical"));
}

/* The content is hostile and the signature is wrong: the error must name the signature. */
Test(signed_campaign, the_signature_is_checked_before_the_content_is_parsed)
{
    struct dpot_buf out;
    const uint8_t signature[DPOT_SIGNATURE_LEN] = {0};
    dpot_buf_init(&out, BYTES_MAX, NULL);
    put_bytes(&out, 1, "\xff\xff\xff", 3);
    put_bytes(&out, 2, signer.public_key, sizeof signer.public_key);
    put_bytes(&out, 3, signature, sizeof signature);
    cr_assert_eq(open_bytes(out.data, out.len, signer.public_key, NULL), DPOT_ERR_SIGNATURE);
    dpot_buf_release(&out);
}

Test(signed_campaign, a_signed_non_canonical_campaign_is_refused)
{
    struct dpot_campaign campaign;
    struct dpot_buf odd, out;
    struct dpot_error error = {""};
    dpot_buf_init(&odd, BYTES_MAX, NULL);
    dpot_buf_init(&out, BYTES_MAX, NULL);
    make_grid_campaign(&campaign, NULL);
    write_grid_campaign(&odd, &campaign, UNPACKED);
    cr_assert_eq(dpot_wire_campaign_sign(odd.data, odd.len, signer.secret_key, &out, NULL),
                 DPOT_OK);
    cr_assert_eq(open_bytes(out.data, out.len, signer.public_key, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "canonical"));
    dpot_campaign_release(&campaign);
    dpot_buf_release(&odd);
    dpot_buf_release(&out);
}

Test(signed_campaign, what_is_too_large_is_refused_by_its_length)
{
    struct dpot_error error = {""};
    uint8_t byte = 0;
    cr_assert_eq(open_bytes(&byte, DPOT_CAMPAIGN_BYTES_MAX + 1, NULL, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(dpot_wire_campaign_sign(&byte, 0, signer.secret_key, &sealed, &error),
                 DPOT_ERR_TOO_LARGE);
    cr_assert_eq(
        dpot_wire_campaign_sign(&byte, DPOT_CAMPAIGN_BYTES_MAX, signer.secret_key, &sealed, &error),
        DPOT_ERR_TOO_LARGE);
}

Test(signed_campaign, opening_survives_every_failed_allocation)
{
    for (size_t n = 1;; n++) {
        struct test_allocator heap;
        struct dpot_signed_campaign opened;
        test_allocator_init(&heap);
        test_allocator_fail_at(&heap, n);
        const dpot_status status = dpot_wire_campaign_open(
            sealed.data, sealed.len, signer.public_key, &heap.allocator, &opened, NULL);
        dpot_signed_campaign_release(&opened);
        cr_assert_eq(heap.bytes, 0);
        if (status == DPOT_OK) {
            break;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
    }
}
