/* Submits to campaigns on a sphere: the input is vectors, the report an id and one of its
 * directions. */
#include "mechanism/codebook.h"
#include "mechanism/mechanism.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define DIM 3
#define COUNT 16

static struct authority authority;
static struct world world;

/* The ring's campaign on a sphere; its masses stay: they are equal. */
static void ask_for_directions(uint32_t n_max)
{
    struct dpot_campaign *campaign = &authority.campaign;
    struct dpot_base_measure *measure = &campaign->base_measure;
    campaign->metric = (struct dpot_metric){DPOT_METRIC_EUCLIDEAN, 0};
    campaign->lambda = 0;
    campaign->iterations = 0;
    campaign->solver = DPOT_SOLVER_EXACT;
    campaign->n_max = n_max;
    campaign->output_is_domain = false;
    dpot_domain_release(&campaign->domain);
    dpot_domain_release(&campaign->output);
    cr_assert_eq(dpot_domain_init_sphere(&campaign->domain, DIM, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_directions(&campaign->output, COUNT, DIM, NULL), DPOT_OK);
    measure->mass_code =
        dpot_resize_array(NULL, measure->mass_code, measure->size, COUNT, sizeof(uint32_t));
    cr_assert_not_null(measure->mass_code);
    measure->size = COUNT;
    for (size_t j = 0; j < COUNT; j++) {
        measure->mass_code[j] = UINT32_MAX;
    }
    authority_sign(&authority);
}

static void set_up(void)
{
    authority_init(&authority, 300);
    ask_for_directions(2);
    world_init(&world, &authority, 1);
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(submit_sphere, .init = set_up, .fini = tear_down);

Test(submit_sphere, the_host_learns_how_many_numbers_a_vector_has)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_get_campaign(client, authority.campaign.id, &info), DPOT_OK);
    cr_assert_eq(info.n_numbers, DIM);
    dpot_client_close(client);
}

Test(submit_sphere, a_report_is_charged_once_and_names_a_direction_of_its_id)
{
    const double points[] = {1, 2, 3, -1, 0, 0}, weights[] = {1, 2};
    enum dpot_submit_outcome outcome = 0;
    dpot_client *client = world_enroll(&world);
    struct dpot_pump_result result = {.struct_size = sizeof result};
    cr_assert_eq(
        dpot_client_submit_points(client, authority.campaign.id, points, weights, 2, DIM, &outcome),
        DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(outcome, DPOT_SUBMIT_REPORTED);
    cr_assert_float_eq(world_status(client).spent_epsilon, 1, 1e-12);
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world.n_uncharged, 0);
    cr_assert_lt(world.received[0].report.index, COUNT);
    cr_assert_eq(world.received[0].report.n_values, 0);
    dpot_client_close(client);
}

/* As many rounds as the ceiling of caps lets it report in. */
#define N_ROUNDS 20

Test(submit_sphere, every_report_has_its_own_id_and_directions)
{
    const double vector[DIM] = {0, 0, -7};
    double directions[N_ROUNDS][DIM];
    dpot_client *client = world_enroll(&world);
    struct dpot_pump_result result = {.struct_size = sizeof result};
    for (uint32_t round = 0; round < N_ROUNDS; round++) {
        world.clock.now_ms = OPENS_MS + round * DAY_MS + 1000;
        cr_assert_eq(dpot_client_submit_vector(client, authority.campaign.id, vector, DIM, NULL),
                     DPOT_OK, "%s", dpot_client_last_error(client));
        cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    }
    cr_assert_eq(world.n_received, N_ROUNDS);
    for (size_t i = 0; i < N_ROUNDS; i++) {
        struct dpot_codebook codebook;
        dpot_codebook_init(&codebook, &authority.campaign, world.received[i].report.id);
        dpot_codebook_direction(&codebook, world.received[i].report.index, directions[i]);
        for (size_t k = 0; k < i; k++) {
            cr_assert_arr_neq(directions[i], directions[k], sizeof directions[i]);
        }
    }
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}

Test(submit_sphere, a_retry_after_a_restart_sends_the_same_id_and_index)
{
    dpot_client *client = world_enroll(&world);
    struct dpot_pump_result result = {.struct_size = sizeof result};
    const double vector[DIM] = {1, 0, 0};
    enum dpot_submit_outcome outcome = 0;
    cr_assert_eq(dpot_client_submit_vector(client, authority.campaign.id, vector, DIM, NULL),
                 DPOT_OK);
    dpot_client_close(client);
    client = world_open(&world);
    cr_assert_eq(dpot_client_submit_vector(client, authority.campaign.id, vector, DIM, &outcome),
                 DPOT_OK);
    cr_assert_eq(outcome, DPOT_SUBMIT_PENDING);
    cr_assert_eq(world_pump(&world, client, &result), DPOT_OK);
    cr_assert_eq(world.n_received, 1);
    cr_assert_eq(world_count_contradictions(&world), 0);
    dpot_client_close(client);
}

Test(submit_sphere, no_number_makes_a_submit_fail)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 5e-324, 0};
    enum { N_BAD = sizeof bad / sizeof bad[0] };
    dpot_client *client = world_enroll(&world);
    for (uint32_t i = 0; i < N_ROUNDS - 2; i++) {
        const double points[] = {bad[i % N_BAD], bad[(i + i / N_BAD) % N_BAD], bad[i % 5], 1, 1,
                                 bad[i % 3]};
        const double weights[] = {bad[i % N_BAD], bad[(2 * i) % N_BAD]};
        world.clock.now_ms = OPENS_MS + i * DAY_MS + 1000;
        cr_assert_eq(dpot_client_submit_points(client, authority.campaign.id, points,
                                               i % 2 ? weights : NULL, 2, DIM, NULL),
                     DPOT_OK, "%s", dpot_client_last_error(client));
    }
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(dpot_client_submit_points(client, authority.campaign.id, NULL, NULL, 0, 0, NULL),
                 DPOT_OK);
    world.clock.now_ms += DAY_MS;
    cr_assert_eq(dpot_client_submit_vector(client, authority.campaign.id, NULL, 0, NULL), DPOT_OK);
    dpot_client_close(client);
}

Test(submit_sphere, data_of_another_kind_or_length_are_refused_unread_and_uncharged)
{
    const double numbers[COUNT] = {1};
    const uint8_t *id = authority.campaign.id;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_submit_histogram(client, id, numbers, COUNT, NULL), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "sphere"));
    cr_assert_eq(dpot_client_submit_points(client, id, numbers, NULL, 2, DIM + 1, NULL),
                 DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_client_submit_vector(client, id, numbers, DIM - 1, NULL), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(dpot_client_last_error(client), "vectors of 3 numbers"));
    cr_assert_eq(world_status(client).n_submitted, 0);
    dpot_client_close(client);
}

Test(submit_sphere, the_statement_says_that_no_vector_leaves)
{
    char text[2048];
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_submit_vector(client, authority.campaign.id, NULL, 0, NULL), DPOT_OK);
    cr_assert_eq(dpot_client_get_statement(client, text, sizeof text), DPOT_OK);
    cr_assert_not_null(strstr(text, "hold no vector of yours"), "%s", text);
    cr_assert_not_null(strstr(text, "16 random directions"), "%s", text);
    dpot_client_close(client);
}
