#include "model/privacy.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "campaign-c0ffee01020304050607080909090909"

static struct authority authority;
static struct world world;
static dpot_client *client;

static void set_up(void)
{
    authority_init(&authority, 3);
    world_init(&world, &authority, 1);
    client = world_open(&world);
}

static void tear_down(void)
{
    dpot_client_close(client);
    world_release(&world);
    authority_release(&authority);
}

TestSuite(enroll, .init = set_up, .fini = tear_down);

static bool is_stored(const struct dpot_buf *bytes)
{
    size_t len = 0;
    const uint8_t *data = test_filesystem_durable(&world.files, FILE_NAME, &len);
    return data && len == bytes->len && memcmp(data, bytes->data, len) == 0;
}

static void assert_refused(dpot_status expected)
{
    const dpot_status status = dpot_client_enroll(client, authority.campaign.id);
    cr_assert_eq(status, expected, "%s: %s", dpot_status_name(status),
                 dpot_client_last_error(client));
    cr_assert_neq(dpot_client_last_error(client)[0], '\0');
    cr_assert_not(is_stored(&authority.signed_campaign));
}

Test(enroll, a_verified_revision_is_stored_as_the_bytes_it_came_in)
{
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert(is_stored(&authority.signed_campaign));
    cr_assert_str_eq(dpot_client_last_error(client), "");
    const size_t n_renames = world.files.n_operations;
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_lt(world.files.n_operations - n_renames, 8); /* only the keys are written again */
}

Test(enroll, a_newer_revision_takes_its_place_and_an_older_one_does_not)
{
    struct dpot_buf first, same_number;
    authority_sign_campaign(&authority, &authority.campaign, &first);
    authority.campaign.revision = 2;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(dpot_client_import(client, first.data, first.len, NULL), DPOT_ERR_EXISTS);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "revision 2"));
    cr_assert(is_stored(&authority.signed_campaign));
    authority.campaign.min_pool = 77;
    authority_sign_campaign(&authority, &authority.campaign, &same_number);
    cr_assert_eq(dpot_client_import(client, same_number.data, same_number.len, NULL),
                 DPOT_ERR_EXISTS);
    cr_assert(is_stored(&authority.signed_campaign));
    dpot_buf_release(&first);
    dpot_buf_release(&same_number);
}

Test(enroll, a_campaign_that_the_server_has_closed_is_refused_and_costs_nothing)
{
    world.is_closed = true;
    assert_refused(DPOT_ERR_CLOSED);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "no revision is open"), "%s",
                       dpot_client_last_error(client));
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(world_status(client).n_submitted, 0);
}

Test(enroll, a_closed_campaign_that_is_stored_stays_with_its_reports)
{
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.is_closed = true;
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_CLOSED);
    cr_assert(is_stored(&authority.signed_campaign));
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_status(client).n_accepted, 1);
}

Test(enroll, a_campaign_signed_by_another_key_is_refused)
{
    struct authority other;
    authority_init(&other, 3);
    struct dpot_buf good = authority.signed_campaign;
    authority.signed_campaign = other.signed_campaign;
    assert_refused(DPOT_ERR_SIGNATURE);
    authority.signed_campaign = good;
    authority_release(&other);
}

Test(enroll, a_refusal_names_what_was_refused)
{
    authority.signed_campaign.data[authority.signed_campaign.len - 1] ^= 1;
    assert_refused(DPOT_ERR_SIGNATURE);
    cr_assert_not_null(strstr(dpot_client_last_error(client),
                              "campaign c0ffee01020304050607080909090909: the signature"));
    cr_assert_eq(dpot_client_import(client, authority.signed_campaign.data,
                                    authority.signed_campaign.len, NULL),
                 DPOT_ERR_SIGNATURE);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "the campaign to import: "));
    authority.signed_campaign.data[authority.signed_campaign.len - 1] ^= 1;
    authority.signed_keys.data[authority.signed_keys.len - 1] ^= 1;
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_SIGNATURE);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "the server's seal keys: "));
}

Test(enroll, every_altered_byte_is_refused)
{
    for (size_t i = 0; i < authority.signed_campaign.len; i++) {
        authority.signed_campaign.data[i] ^= 1;
        const dpot_status status = dpot_client_enroll(client, authority.campaign.id);
        cr_assert_leq(status, -200, "byte %zu", i);
        cr_assert_not(is_stored(&authority.signed_campaign));
        authority.signed_campaign.data[i] ^= 1;
    }
}

Test(enroll, every_shortened_answer_is_refused)
{
    const size_t len = authority.signed_campaign.len;
    for (size_t i = 0; i < len; i++) {
        authority.signed_campaign.len = i;
        cr_assert_leq(dpot_client_enroll(client, authority.campaign.id), -200, "length %zu", i);
    }
    authority.signed_campaign.len = len;
}

Test(enroll, another_campaign_than_was_asked_for_is_refused)
{
    uint8_t id[16];
    memcpy(id, authority.campaign.id, sizeof id);
    struct dpot_buf good = authority.signed_campaign;
    authority.campaign.id[0] ^= 1;
    authority_sign_campaign(&authority, &authority.campaign, &authority.signed_campaign);
    authority.campaign.id[0] ^= 1;
    assert_refused(DPOT_ERR_MALFORMED);
    dpot_buf_release(&authority.signed_campaign);
    authority.signed_campaign = good;
}

Test(enroll, a_campaign_above_the_ceiling_is_refused)
{
    authority.campaign.epsilon_q32 = DPOT_EPSILON_CEILING_Q32 + 1;
    authority_sign(&authority);
    assert_refused(DPOT_ERR_EPSILON);
}

Test(enroll, an_infeasible_base_measure_is_refused)
{
    authority.campaign.base_measure.total = 1;
    authority_sign(&authority);
    assert_refused(DPOT_ERR_INFEASIBLE);
}

Test(enroll, numbers_out_of_range_are_refused)
{
    authority.campaign.iterations = 10001;
    authority_sign(&authority);
    assert_refused(DPOT_ERR_RANGE);
    authority.campaign.iterations = 2;
    authority.campaign.n_max = 0;
    authority_sign(&authority);
    assert_refused(DPOT_ERR_RANGE);
}

Test(enroll, a_simulation_is_refused)
{
    authority.campaign.simulation = true;
    authority_sign(&authority);
    assert_refused(DPOT_ERR_SIMULATION);
}

Test(enroll, an_unknown_campaign_is_not_found)
{
    const uint8_t unknown[16] = {1, 2, 3};
    cr_assert_eq(dpot_client_enroll(client, unknown), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "404"));
    cr_assert_not_null(strstr(dpot_client_last_error(client), "is it still a draft?"));
}

Test(enroll, no_failure_shows_the_password_of_the_server)
{
    const bool is_down = true;
    const uint8_t unknown[16] = {1, 2, 3};
    dpot_client_close(client);
    world.config.server_url = "https://user:s@cret@pool.example.org:8443";
    client = world_open(&world);
    cr_assert_eq(dpot_client_enroll(client, unknown), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(world.network.last_url, "//user:s@cret@"));
    cr_assert_not_null(
        strstr(dpot_client_last_error(client), "GET https://pool.example.org:8443/v1/"), "%s",
        dpot_client_last_error(client));
    world.network.is_down = &is_down;
    cr_assert_eq(dpot_client_enroll(client, unknown), DPOT_ERR_NETWORK);
    cr_assert_not_null(
        strstr(dpot_client_last_error(client), "GET https://pool.example.org:8443/v1/"), "%s",
        dpot_client_last_error(client));
}

Test(enroll, importing_gives_the_id)
{
    uint8_t id[16];
    cr_assert_eq(dpot_client_import(client, authority.signed_campaign.data,
                                    authority.signed_campaign.len, id),
                 DPOT_OK);
    cr_assert_arr_eq(id, authority.campaign.id, sizeof id);
    cr_assert(is_stored(&authority.signed_campaign));
    cr_assert_lt(dpot_client_import(client, "nonsense", 8, id), 0);
    cr_assert_lt(dpot_client_import(client, NULL, 0, id), 0);
}

Test(enroll, keys_of_another_signer_fail_the_enrolment)
{
    struct authority other;
    authority_init(&other, 3);
    struct dpot_buf good = authority.signed_keys;
    authority.signed_keys = other.signed_keys;
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_SIGNATURE);
    size_t len = 0;
    cr_assert_null(test_filesystem_cached(&world.files, "keys", &len));
    authority.signed_keys = good;
    authority_release(&other);
}

Test(enroll, a_disk_that_fails_leaves_the_stored_revision_in_place)
{
    struct dpot_buf first;
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    authority_sign_campaign(&authority, &authority.campaign, &first);
    authority.campaign.revision = 2;
    authority_sign(&authority);
    world.files.is_full = true;
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_NO_SPACE);
    world.files.is_full = false;
    cr_assert(is_stored(&first));
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert(is_stored(&authority.signed_campaign));
    dpot_buf_release(&first);
}
