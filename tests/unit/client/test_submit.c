#include "base/rng_seeded.h"
#include "mechanism/mechanism.h"
#include "simulation.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct authority authority;
static struct world world;

static void set_up(void)
{
    authority_init(&authority, 3);
    world_init(&world, &authority, 1);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(submit, .init = set_up, .fini = tear_down);

static size_t file_len(const char *name)
{
    size_t len = 0;
    (void)test_filesystem_cached(&world.files, name, &len);
    return len;
}

Test(submit, one_submit_is_one_charge_and_one_report_at_the_server)
{
    dpot_client *client = world_enroll(&world);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
    struct dpot_pump_result result;
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(result.n_sent, 1);
    cr_assert_eq(result.n_pending, 0);
    cr_assert_eq(result.next_due_ms, INT64_MAX);
    cr_assert_eq(world.n_received, 1);
    cr_assert_lt(world.received[0].report.index, RING_SIZE);
    cr_assert_eq(world.received[0].round, 0);
    cr_assert_eq(world.received[0].report.test, false);
    cr_assert_arr_eq(world.received[0].campaign_hash, authority.hash, DPOT_HASH_LEN);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(status.n_submitted, 1);
    cr_assert_eq(status.n_accepted, 1);
    cr_assert_float_eq(status.spent_epsilon, 1, 1e-12);
    assert_conserved(&status);
    cr_assert_str_eq(world.network.last_url, "https://pool.example.org/v1/campaigns/"
                                             "c0ffee01020304050607080909090909/reports");
    cr_assert_str_eq(world.network.last_content_type, "application/x-protobuf");
    dpot_client_close(client);
}

Test(submit, a_campaign_with_the_exact_solver_is_reported_to_like_any_other)
{
    authority.campaign.solver = DPOT_SOLVER_EXACT;
    authority.campaign.lambda = 0;
    authority.campaign.iterations = 0;
    authority_sign(&authority);
    dpot_client *client = world_enroll(&world);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(world.n_received, 1);
    cr_assert_lt(world.received[0].report.index, RING_SIZE);
    dpot_client_close(client);
}

Test(submit, a_second_submit_in_the_round_reads_no_data_and_charges_nothing)
{
    dpot_client *client = world_enroll(&world);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    /* A pointer that crashes when it is read. */
    const double *forbidden = (const double *)(uintptr_t)8;
    cr_assert_eq(
        dpot_client_submit_points(client, authority.campaign.id, forbidden, NULL, 1, 1, &outcome),
        DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_PENDING);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(
        dpot_client_submit_points(client, authority.campaign.id, forbidden, NULL, 1, 1, &outcome),
        DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_DONE);
    cr_assert_eq(world_status(client).n_submitted, 1);
    dpot_client_close(client);
}

Test(submit, each_round_is_charged_and_reported_by_itself)
{
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 3; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        enum dpot_submit_outcome outcome = 0;
        cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
        cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
        cr_assert_eq(world.received[round].round, round);
    }
    cr_assert_float_eq(world_status(client).spent_epsilon, 3, 1e-12);
    double spent = 0;
    cr_assert_eq(dpot_client_get_campaign_spent(client, authority.campaign.id, &spent), DPOT_OK);
    cr_assert_float_eq(spent, 3, 1e-12);
    const uint8_t other[16] = {1};
    cr_assert_eq(dpot_client_get_campaign_spent(client, other, &spent), DPOT_OK);
    cr_assert_eq(spent, 0);
    dpot_client_close(client);
}

Test(submit, a_new_revision_is_charged_again)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    authority.campaign.revision = 2;
    authority_sign(&authority);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 2);
    cr_assert_eq(world_status(client).n_submitted, 2);
    dpot_client_close(client);
}

Test(submit, a_report_survives_closing_and_is_sent_by_the_next_handle)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_eq(world_status(client).n_pending, 1);
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(world_submit(&world, client, &outcome), DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_PENDING);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

Test(submit, garbage_data_are_reported_like_any_other)
{
    static const double points[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 0};
    static const double weights[] = {NAN, INFINITY, -1, 1e308, 1e308, 0};
    dpot_client *client = world_enroll(&world);
    for (uint32_t round = 0; round < 3; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS;
        cr_assert_eq(dpot_client_submit_points(client, authority.campaign.id, points,
                                               round == 0 ? NULL : weights, round == 2 ? 3 : 6, 1,
                                               NULL),
                     DPOT_OK);
        cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    }
    cr_assert_eq(world.n_received, 3);
    dpot_client_close(client);
}

Test(submit, no_data_at_all_is_reported_from_the_public_default)
{
    const double empty[RING_SIZE] = {0};
    const double place = 1;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_submit_points(client, authority.campaign.id, &place, NULL, 0, 7, NULL),
                 DPOT_OK);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(dpot_client_submit_points(client, authority.campaign.id, NULL, NULL, 5, 1, NULL),
                 DPOT_OK);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(
        dpot_client_submit_histogram(client, authority.campaign.id, empty, RING_SIZE, NULL),
        DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 3);
    dpot_client_close(client);
}

Test(submit, without_a_histogram_its_size_is_not_checked)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_submit_histogram(client, authority.campaign.id, NULL, 0, NULL),
                 DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

Test(submit, a_hundred_thousand_points_are_one_report)
{
    const size_t n = 100000;
    double *points = malloc(n * sizeof *points);
    cr_assert_not_null(points);
    for (size_t i = 0; i < n; i++) {
        points[i] = (double)(i % 97);
    }
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_submit_points(client, authority.campaign.id, points, NULL, n, 1, NULL),
                 DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    free(points);
    dpot_client_close(client);
}

Test(submit, a_histogram_is_reported_and_its_garbage_counts_as_nothing)
{
    const double histogram[RING_SIZE] = {1, NAN, -3, INFINITY, 0, 2};
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(
        dpot_client_submit_histogram(client, authority.campaign.id, histogram, RING_SIZE, NULL),
        DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    dpot_client_close(client);
}

Test(submit, the_hosts_floating_point_environment_is_unchanged)
{
    dpot_client *client = world_enroll(&world);
    const double histogram[RING_SIZE] = {INFINITY, NAN};
    cr_assert_eq(feclearexcept(FE_ALL_EXCEPT), 0);
    cr_assert_eq(fesetround(FE_UPWARD), 0);
    cr_assert_eq(
        dpot_client_submit_histogram(client, authority.campaign.id, histogram, RING_SIZE, NULL),
        DPOT_OK);
    cr_assert_eq(fegetround(), FE_UPWARD);
    cr_assert_eq(fetestexcept(FE_INVALID | FE_DIVBYZERO), 0);
    cr_assert_eq(fesetround(FE_TONEAREST), 0);
    dpot_client_close(client);
}

/* ---- refusals: before the data are read, and nothing is charged ---- */

static void assert_refused(dpot_client *client, dpot_status expected)
{
    const double *forbidden = (const double *)(uintptr_t)8;
    const size_t before = file_len("ledger"), spool_before = file_len("spool");
    const dpot_status status =
        dpot_client_submit_points(client, authority.campaign.id, forbidden, NULL, 1, 1, NULL);
    cr_assert_eq(status, expected, "%s: %s", dpot_status_name(status),
                 dpot_client_last_error(client));
    cr_assert_neq(dpot_client_last_error(client)[0], '\0');
    cr_assert_eq(file_len("ledger"), before);
    cr_assert_eq(file_len("spool"), spool_before);
}

Test(submit, a_campaign_that_is_not_enrolled_is_refused)
{
    dpot_client *client = world_open(&world);
    assert_refused(client, DPOT_ERR_NOT_FOUND);
    dpot_client_close(client);
}

Test(submit, a_campaign_that_has_not_opened_is_refused)
{
    dpot_client *client = world_enroll(&world);
    world.clock.now_ms = OPENS_MS - 1;
    assert_refused(client, DPOT_ERR_NOT_OPEN);
    dpot_client_close(client);
}

Test(submit, a_campaign_that_has_closed_is_refused)
{
    dpot_client *client = world_enroll(&world);
    world.clock.now_ms = OPENS_MS + 3 * DAY_MS;
    assert_refused(client, DPOT_ERR_CLOSED);
    dpot_client_close(client);
}

Test(submit, points_of_another_shape_are_refused)
{
    const double point[2] = {1, 2};
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_submit_points(client, authority.campaign.id, point, NULL, 1, 2, NULL),
                 DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_client_submit_histogram(client, authority.campaign.id, point, 2, NULL),
                 DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "wants 8"));
    dpot_client_close(client);
}

Test(submit, an_altered_campaign_file_is_refused)
{
    dpot_client *client = world_enroll(&world);
    const char *name = "campaign-c0ffee01020304050607080909090909";
    size_t len = 0;
    const uint8_t *bytes = test_filesystem_cached(&world.files, name, &len);
    cr_assert_not_null(bytes);
    for (size_t i = 0; i < len; i++) {
        uint8_t *altered = malloc(len);
        cr_assert_not_null(altered);
        memcpy(altered, authority.signed_campaign.data, len);
        altered[i] ^= 1;
        test_filesystem_put(&world.files, name, altered, len);
        free(altered);
        const dpot_status status = world_submit(&world, client, NULL);
        cr_assert_lt(status, -199, "byte %zu: %s", i, dpot_status_name(status));
    }
    cr_assert_eq(world_status(client).n_submitted, 0);
    dpot_client_close(client);
}

Test(submit, a_group_that_the_campaign_does_not_have_is_refused)
{
    authority.campaign.n_groups = 2;
    authority.campaign.groups = dpot_alloc_array(NULL, 2, sizeof *authority.campaign.groups);
    memcpy(authority.campaign.groups[0], "a", 2);
    memcpy(authority.campaign.groups[1], "b", 2);
    authority_sign(&authority);
    world.config.group = 2;
    dpot_client *client = world_enroll(&world);
    assert_refused(client, DPOT_ERR_RANGE);
    dpot_client_close(client);
    world.config.group = 1;
    client = world_open(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.received[0].report.group, 1);
    dpot_client_close(client);
}

Test(submit, a_campaign_with_its_own_group_gets_that_group)
{
    struct dpot_campaign_group groups[2] = {{.group = 0}, {.group = 1}};
    authority.campaign.n_groups = 2;
    authority.campaign.groups = dpot_alloc_array(NULL, 2, sizeof *authority.campaign.groups);
    memcpy(authority.campaign.groups[0], "a", 2);
    memcpy(authority.campaign.groups[1], "b", 2);
    authority_sign(&authority);
    memcpy(groups[1].campaign_id, authority.campaign.id, sizeof groups[1].campaign_id);
    world.config.groups = groups;
    world.config.n_groups = 2;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.received[0].report.group, 1);
    dpot_client_close(client);
}

Test(submit, more_points_than_any_memory_holds_are_refused_before_the_charge)
{
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 8, SIZE_MAX / 16 + 1};
    const double place = 3;
    dpot_client *client = world_enroll(&world);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(dpot_client_submit_points(client, authority.campaign.id, &place, NULL,
                                               counts[i], 1, NULL),
                     DPOT_ERR_ARGUMENT);
        cr_assert_not_null(strstr(dpot_client_last_error(client), "nothing was charged"));
    }
    cr_assert_eq(dpot_client_submit_points(client, authority.campaign.id, &place, NULL, SIZE_MAX,
                                           UINT32_MAX, NULL),
                 DPOT_ERR_ARGUMENT);
    cr_assert_eq(world_status(client).n_submitted, 0);
    cr_assert_eq(
        dpot_client_submit_points(client, authority.campaign.id, NULL, NULL, SIZE_MAX, 1, NULL),
        DPOT_OK, "none are none, whatever their count");
    dpot_client_close(client);
}

Test(submit, a_busy_folder_is_refused_at_once)
{
    dpot_client *client = world_enroll(&world);
    world.files.is_locked = true;
    assert_refused(client, DPOT_ERR_BUSY);
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, NULL), DPOT_ERR_BUSY);
    world.files.is_locked = false;
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    dpot_client_close(client);
}

/* ---- simulation ---- */

Test(submit, a_real_device_takes_no_part_in_a_simulation)
{
    authority.campaign.simulation = true;
    authority_sign(&authority);
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_ERR_SIMULATION);
    test_filesystem_put(&world.files, "campaign-c0ffee01020304050607080909090909",
                        authority.signed_campaign.data, authority.signed_campaign.len);
    assert_refused(client, DPOT_ERR_SIMULATION);
    dpot_client_close(client);
}

Test(submit, through_the_seam_a_seeded_device_marks_its_reports_as_test)
{
    authority.campaign.simulation = true;
    authority_sign(&authority);
    struct dpot_rng_seeded seeded;
    dpot_rng_seeded_init(&seeded, 7, 0);
    dpot_client *client = world_open(&world);
    dpot_client_allow_simulation(client);
    dpot_client_set_rng_source(client, &seeded.source);
    cr_assert_eq(dpot_client_enroll(client, authority.campaign.id), DPOT_OK);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.received[0].report.test, true);
    dpot_client_close(client);
}

/* The same report from its law, by a plain search of the cumulative sums. */
static uint32_t draw_by_hand(const uint8_t bytes[48], const double *histogram)
{
    uint64_t weights[RING_SIZE];
    double scratch[RING_SIZE];
    struct dpot_rng_replay replay;
    struct dpot_rng rng;
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_private_measure measure;
    memcpy(scratch, histogram, sizeof scratch);
    cr_assert_eq(dpot_private_measure_init(&measure, authority.campaign.n_max, NULL), DPOT_OK);
    dpot_private_measure_set(&measure, scratch, RING_SIZE);
    cr_assert_eq(dpot_privatizer_new(&authority.campaign, NULL, &privatizer, NULL), DPOT_OK);
    dpot_privatizer_law(privatizer, &measure, weights);
    dpot_rng_replay_init(&replay, bytes, 48);
    dpot_rng_init(&rng, &replay.source);
    const uint64_t u = dpot_rng_u64(&rng) & (((uint64_t)1 << 62) - 1);
    uint32_t index = 0;
    for (uint64_t sum = weights[0]; u >= sum && index + 1 < RING_SIZE; sum += weights[index]) {
        index++;
    }
    dpot_rng_release(&rng);
    dpot_privatizer_free(privatizer);
    dpot_private_measure_release(&measure);
    return index;
}

Test(submit, with_a_replayed_source_a_device_gives_the_golden_report)
{
    uint8_t bytes[48];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i + 1);
    }
    struct dpot_filesystem *files = NULL;
    cr_assert_eq(dpot_filesystem_memory_new(NULL, &files), DPOT_OK);
    world.config.filesystem = files;
    struct dpot_rng_replay replay;
    dpot_rng_replay_init(&replay, bytes, sizeof bytes);
    dpot_client *client = world_enroll(&world);
    dpot_client_set_rng_source(client, &replay.source);
    const double histogram[RING_SIZE] = {0, 0, 3, 1};
    cr_assert_eq(
        dpot_client_submit_histogram(client, authority.campaign.id, histogram, RING_SIZE, NULL),
        DPOT_OK);
    cr_assert_eq(world_pump(&world, client, NULL), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    /* The key is fetched first (32 bytes), then the id; the draws behind it are zeros. */
    cr_assert_arr_eq(world.received[0].report.id, bytes + 32, 16);
    cr_assert_eq(world.received[0].report.index, 4);
    cr_assert_eq(world.received[0].report.index, draw_by_hand(bytes, histogram));
    dpot_client_close(client);
    dpot_filesystem_memory_free(files);
}

Test(submit, a_missing_argument_is_refused_and_never_a_crash)
{
    struct dpot_client_status status = {.struct_size = 0};
    struct dpot_pump_result result = {.struct_size = 0};
    struct dpot_filesystem *files = NULL;
    double spent = 0;
    const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {0};
    dpot_client *client = world_open(&world);
    cr_assert_eq(dpot_client_get_status(client, &status), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_get_status(client, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_pump(client, PUMP_MS, &result), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_enroll(client, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_enroll(NULL, id), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_import(client, NULL, 5, NULL), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_get_campaign_spent(client, NULL, &spent), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_submit_points(client, NULL, NULL, NULL, 0, 2, NULL),
                 DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_filesystem_posix_new(NULL, &files), DPOT_ERR_ARGUMENT);
    cr_assert_eq(dpot_client_open(NULL, NULL, NULL, 0), DPOT_ERR_ARGUMENT);
    cr_assert_str_eq(dpot_client_last_error(NULL), "");
    dpot_client_close(client);
}
