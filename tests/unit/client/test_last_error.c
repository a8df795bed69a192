/* dpot_client_last_error after every call: the sentence names the fault of that call, and there is
 * none after a success. */
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct authority authority;
static struct world world;
static dpot_client *client;
static const uint8_t *id;

static void set_up(void)
{
    authority_init(&authority, 3);
    world_init(&world, &authority, 1);
    client = world_enroll(&world);
    id = authority.campaign.id;
}

static void tear_down(void)
{
    dpot_client_close(client);
    world_release(&world);
    authority_release(&authority);
}

TestSuite(last_error, .init = set_up, .fini = tear_down);

/* Another failure first, whose sentence must not stay. */
static void fail_before(void)
{
    static const uint8_t other[16] = {9};
    cr_assert_eq(dpot_client_submit_points(client, other, NULL, NULL, 0, 2, NULL),
                 DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "0900"), "%s",
                       dpot_client_last_error(client));
}

#define EXPECT(expected, call, word)                                                               \
    do {                                                                                           \
        fail_before();                                                                             \
        cr_assert_eq((call), (expected), "%s", #call);                                             \
        cr_assert_not_null(strstr(dpot_client_last_error(client), (word)), "%s: \"%s\"", #call,    \
                           dpot_client_last_error(client));                                        \
    } while (0)

#define REFUSED(call, word) EXPECT(DPOT_ERR_ARGUMENT, call, word)

#define EXPECT_SILENCE(call)                                                                       \
    do {                                                                                           \
        fail_before();                                                                             \
        cr_assert_eq((call), DPOT_OK, "%s: %s", #call, dpot_client_last_error(client));            \
        cr_assert_str_eq(dpot_client_last_error(client), "", "%s", #call);                         \
    } while (0)

Test(last_error, every_argument_that_is_null_is_named)
{
    static const double point[2] = {0, 0};
    struct dpot_spending spending = {.struct_size = sizeof spending};
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    char text[8];
    double epsilon = 0;
    REFUSED(dpot_client_enroll(client, NULL), "campaign_id is NULL");
    REFUSED(dpot_client_import(client, NULL, 3, NULL), "data is NULL");
    REFUSED(dpot_client_expect(client, NULL, 1), "digests is NULL");
    REFUSED(dpot_client_submit_points(client, NULL, point, NULL, 1, 2, NULL),
            "campaign_id is NULL");
    REFUSED(dpot_client_submit_histogram(client, NULL, NULL, 8, NULL), "campaign_id is NULL");
    REFUSED(dpot_client_submit_vector(client, NULL, NULL, 2, NULL), "campaign_id is NULL");
    REFUSED(dpot_client_get_status(client, NULL), "status is NULL");
    REFUSED(dpot_client_get_campaign(client, NULL, &info), "campaign_id is NULL");
    REFUSED(dpot_client_get_campaign(client, id, NULL), "info is NULL");
    REFUSED(dpot_client_get_statement(client, NULL, 5), "text is NULL");
    REFUSED(dpot_client_get_statement(client, text, 0), "cap is 0");
    REFUSED(dpot_client_get_campaign_spent(client, NULL, &epsilon), "campaign_id is NULL");
    REFUSED(dpot_client_get_campaign_spent(client, id, NULL), "spent_epsilon is NULL");
    REFUSED(dpot_client_get_campaign_spending(client, NULL, &spending), "campaign_id is NULL");
    REFUSED(dpot_client_get_campaign_spending(client, id, NULL), "spending is NULL");
}

Test(last_error, a_struct_size_or_a_count_that_is_wrong_is_named)
{
    static const uint8_t digests[1][32];
    static const double point[2] = {0, 0};
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 65537, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct dpot_client_status status = {.struct_size = sizes[i]};
        struct dpot_campaign_info info = {.struct_size = sizes[i]};
        struct dpot_spending spending = {.struct_size = sizes[i]};
        struct dpot_pump_result result = {.struct_size = sizes[i]};
        REFUSED(dpot_client_get_status(client, &status), "status->struct_size");
        REFUSED(dpot_client_get_campaign(client, id, &info), "info->struct_size");
        REFUSED(dpot_client_get_campaign_spending(client, id, &spending), "spending->struct_size");
        REFUSED(dpot_client_pump(client, 0, &result), "result->struct_size");
    }
    REFUSED(dpot_client_expect(client, digests, 4097), "n is 4097");
    REFUSED(dpot_client_submit_points(client, id, point, NULL, SIZE_MAX, 2, NULL), "n is ");
}

Test(last_error, a_failure_that_is_no_argument_fault_is_named_and_not_the_one_before)
{
    static const uint8_t other[16] = {7};
    static const double point[3] = {0, 0, 0};
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    EXPECT(DPOT_ERR_SHAPE, dpot_client_submit_points(client, id, point, NULL, 1, 3, NULL), "3");
    EXPECT(DPOT_ERR_SHAPE, dpot_client_submit_vector(client, id, point, 3, NULL), "vector");
    EXPECT(DPOT_ERR_NOT_FOUND, dpot_client_get_campaign(client, other, &info), "0700");
    cr_assert_neq(dpot_client_import(client, "x", 1, NULL), DPOT_OK);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "campaign to import"));
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_eq(dpot_client_enroll(client, id), DPOT_ERR_CONSENT);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "consent"), "%s",
                       dpot_client_last_error(client));
}

Test(last_error, a_success_leaves_no_sentence)
{
    struct dpot_client_status status = {.struct_size = sizeof status};
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    struct dpot_spending spending = {.struct_size = sizeof spending};
    struct dpot_pump_result result = {.struct_size = sizeof result};
    char text[4096];
    double epsilon = 0;
    EXPECT_SILENCE(dpot_client_enroll(client, id));
    EXPECT_SILENCE(world_submit(&world, client, NULL));
    EXPECT_SILENCE(dpot_client_expect(client, NULL, 0));
    EXPECT_SILENCE(dpot_client_get_status(client, &status));
    EXPECT_SILENCE(dpot_client_get_campaign(client, id, &info));
    EXPECT_SILENCE(dpot_client_get_campaign_spent(client, id, &epsilon));
    EXPECT_SILENCE(dpot_client_get_campaign_spending(client, id, &spending));
    EXPECT_SILENCE(dpot_client_get_statement(client, text, sizeof text));
    EXPECT_SILENCE(world_pump(&world, client, &result));
    EXPECT_SILENCE(dpot_client_grant(client));
    EXPECT_SILENCE(dpot_client_import(client, authority.signed_campaign.data,
                                      authority.signed_campaign.len, NULL));
    fail_before();
    cr_assert_eq(dpot_client_withdraw(client), DPOT_OK);
    cr_assert_str_eq(dpot_client_last_error(client), "");
}

/* Two reports, two failures: the status is that of the first, and so is the sentence. */
Test(last_error, a_pump_with_several_failures_explains_the_one_it_returns)
{
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    world.network.script[0] = (struct test_script){.status = 401};
    world.network.script[1] = (struct test_script){.status = 503};
    world.network.n_script = 2;
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_ERR_DENIED);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "401"), "%s",
                       dpot_client_last_error(client));
}

/* ---- what a newer application sets ---- */

struct newer_config {
    struct dpot_client_config known;
    double yearly_epsilon_cap;
};

static dpot_status open_newer(const struct newer_config *config, char text[256])
{
    dpot_client *other = NULL;
    text[0] = '\0';
    const dpot_status status = dpot_client_open(&config->known, &other, text, 256);
    dpot_client_close(other);
    return status;
}

Test(last_error, a_member_of_the_config_that_is_not_known_must_be_zero)
{
    struct newer_config config = {.known = world.config};
    char text[256];
    dpot_client_close(client);
    client = NULL;
    config.known.struct_size = sizeof config;
    cr_assert_eq(open_newer(&config, text), DPOT_OK, "%s", text);
    config.yearly_epsilon_cap = 1;
    cr_assert_eq(open_newer(&config, text), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(text, "does not know"), "%s", text);
    config.known.struct_size = 65537;
    cr_assert_eq(open_newer(&config, text), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(text, "config.struct_size is 65537: set it"), "%s", text);
}

#define REFUSE_NEWER_HOOK(type, hook)                                                              \
    do {                                                                                           \
        struct {                                                                                   \
            struct type known;                                                                     \
            void *newer;                                                                           \
        } mine = {.known = *config.known.hook};                                                    \
        mine.known.struct_size = sizeof mine;                                                      \
        const struct type *before = config.known.hook;                                             \
        config.known.hook = &mine.known;                                                           \
        cr_assert_eq(open_newer(&config, text), DPOT_OK, "%s", text);                              \
        mine.newer = &mine;                                                                        \
        cr_assert_eq(open_newer(&config, text), DPOT_ERR_ARGUMENT);                                \
        cr_assert_not_null(strstr(text, "config." #hook " sets members"), "%s", text);             \
        config.known.hook = before;                                                                \
    } while (0)

Test(last_error, a_member_of_a_hook_that_is_not_known_must_be_zero)
{
    struct newer_config config = {.known = world.config};
    struct hardware hardware;
    char text[256];
    dpot_client_close(client);
    client = NULL;
    REFUSE_NEWER_HOOK(dpot_filesystem, filesystem);
    REFUSE_NEWER_HOOK(dpot_transport, transport);
    REFUSE_NEWER_HOOK(dpot_clock, clock);
    hardware_init(&hardware);
    config.known.counter = &hardware.counter;
    REFUSE_NEWER_HOOK(dpot_counter, counter);
}

Test(last_error, opening_names_the_wrong_argument)
{
    struct dpot_client_config small = world.config;
    dpot_client *other = NULL;
    char text[256];
    small.struct_size = 0;
    cr_assert_eq(dpot_client_open(&world.config, NULL, text, sizeof text), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(text, "client is NULL"), "%s", text);
    cr_assert_eq(dpot_client_open(NULL, &other, text, sizeof text), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(text, "config is NULL"), "%s", text);
    cr_assert_eq(dpot_client_open(&small, &other, text, sizeof text), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(text, "config.struct_size"), "%s", text);
    cr_assert_eq(dpot_folder_withdraw(NULL, text, sizeof text), DPOT_ERR_ARGUMENT);
    cr_assert_not_null(strstr(text, "filesystem is NULL"), "%s", text);
}

/* What this library does not fill is 0 and not what stood there. */
Test(last_error, a_result_that_is_newer_than_the_library_is_zero_beyond_it)
{
    struct {
        struct dpot_client_status known;
        uint64_t newer;
    } status;
    memset(&status, 0x5a, sizeof status);
    status.known.struct_size = sizeof status;
    cr_assert_eq(dpot_client_get_status(client, &status.known), DPOT_OK);
    cr_assert_eq(status.newer, 0);
}
