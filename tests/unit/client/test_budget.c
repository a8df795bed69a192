/* The memory and the stack of a submit. */
#include "base/compiler.h"
#include "draft.h"
#include "mechanism/sampler.h"
#include "support/allocator.h"
#include "unit/client/world.h"

#include <criterion/criterion.h>
#include <string.h>

static struct authority authority;
static struct world world;
static struct test_allocator heap;

static void set_up(void)
{
    authority_init(&authority, 30);
    world_init(&world, &authority, 1);
    test_allocator_init(&heap);
    world.config.allocator = &heap.allocator;
}

static void tear_down(void)
{
    world_release(&world);
    authority_release(&authority);
}

TestSuite(budget, .init = set_up, .fini = tear_down);

static void use_uniform_base_measure(struct dpot_campaign *campaign)
{
    const uint32_t size = campaign->output.size;
    double *m = dpot_alloc_array(NULL, size, sizeof *m);
    for (uint32_t j = 0; j < size; j++) {
        m[j] = 1.0 / size;
    }
    dpot_free_array(NULL, campaign->base_measure.mass_code, campaign->base_measure.size,
                    sizeof(uint32_t));
    campaign->base_measure.mass_code = dpot_alloc_array(NULL, size, sizeof(uint32_t));
    cr_assert_eq(
        dpot_base_measure_encode(m, size, campaign->epsilon_q32, &campaign->base_measure, NULL),
        DPOT_OK);
    dpot_free_array(NULL, m, size, sizeof *m);
}

/* The exact projection on a square grid of side^2 cells. */
static void ask_for_places(uint32_t side, uint32_t n_max)
{
    const double lo[] = {0, 0}, hi[] = {1, 1};
    const uint32_t shape[] = {side, side};
    struct dpot_campaign *campaign = &authority.campaign;
    campaign->metric = (struct dpot_metric){.id = DPOT_METRIC_EUCLIDEAN};
    campaign->solver = DPOT_SOLVER_EXACT;
    campaign->lambda = 0;
    campaign->iterations = 0;
    campaign->n_max = n_max;
    cr_assert_eq(dpot_domain_init_grid(&campaign->domain, 2, lo, hi, shape, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_copy(&campaign->output, &campaign->domain), DPOT_OK);
    use_uniform_base_measure(campaign);
    authority_sign(&authority);
}

/* A fresh folder, enrolled. */
static dpot_client *enroll(void)
{
    world_release(&world);
    world_init(&world, &authority, 1);
    world.config.allocator = &heap.allocator;
    world.config.campaign_delta_cap = world.config.window_delta_cap =
        world.config.lifetime_delta_cap = 1e-3;
    return world_enroll(&world);
}

static dpot_status submit(dpot_client *client)
{
    static const double places[] = {.1, .2, .7, .4, .3, .9};
    static const double vector[VECTOR_DIM];
    const uint8_t *id = authority.campaign.id;
    return dpot_mechanism_is_vector(authority.campaign.mechanism)
               ? dpot_client_submit_vector(client, id, vector, VECTOR_DIM, NULL)
               : dpot_client_submit_points(client, id, places, NULL, 3,
                                           authority.campaign.domain.dim, NULL);
}

/* ---- memory ---- */

/* What a submit needs besides the draft: the campaign, its records, or what it needs earlier. */
#define BESIDES 12000

static void check_memory(size_t limit)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    dpot_client *client = enroll();
    cr_assert_eq(dpot_client_get_campaign(client, authority.campaign.id, &info), DPOT_OK);
    cr_assert_eq(info.memory_bytes, dpot_draft_bytes(&authority.campaign));
    const size_t at_rest = heap.bytes;
    heap.peak = 0;
    cr_assert_eq(submit(client), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_geq(heap.peak - at_rest, info.memory_bytes);
    cr_assert_leq(heap.peak - at_rest, info.memory_bytes + BESIDES);
    cr_assert_lt(heap.peak, limit, "%zu bytes", heap.peak);
    dpot_client_close(client);
    cr_assert_eq(heap.bytes, 0);
}

Test(budget, of_memory_is_kept_by_places_and_by_vectors)
{
    ask_for_places(20, 1);
    check_memory(80000);
    ask_for_places(20, 32);
    check_memory(160000);
    ask_for_places(50, 32);
    check_memory(800000);
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    check_memory(16000);
}

/* The draft of the authority's campaign, with and without a drawn place. */
static void check_draft(void)
{
    static const struct dpot_device_data no_data;
    struct dpot_error error = {{0}};
    struct dpot_draft draft;
    for (int sample_first = 0; sample_first < 2; sample_first++) {
        struct dpot_campaign campaign = authority.campaign;
        campaign.sample_first =
            sample_first && !dpot_mechanism_is_vector(authority.campaign.mechanism);
        heap.peak = 0;
        cr_assert_eq(dpot_draft_init(&draft, &campaign, &heap.allocator, &error), DPOT_OK, "%s",
                     error.text);
        cr_assert_eq(heap.bytes, dpot_draft_bytes(&campaign), "mechanism %d: %zu, not %zu",
                     (int)campaign.mechanism, heap.bytes, dpot_draft_bytes(&campaign));
        dpot_rng_init(draft.rng, &dpot_rng_source_sodium);
        test_allocator_fail_at(&heap, 1);
        dpot_draft_make(&draft, &no_data);
        test_allocator_fail_at(&heap, 0);
        cr_assert_eq(heap.peak, dpot_draft_bytes(&campaign));
        dpot_draft_release(&draft);
        cr_assert_eq(heap.bytes, 0);
    }
}

static void ask_for_listed_places(void)
{
    const double points[] = {1, 0, 0, 1, 3, 3};
    struct dpot_campaign *campaign = &authority.campaign;
    dpot_domain_release(&campaign->domain);
    dpot_domain_release(&campaign->output);
    cr_assert_eq(dpot_domain_init_points(&campaign->domain, 3, 2, points, NULL, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_copy(&campaign->output, &campaign->domain), DPOT_OK);
    use_uniform_base_measure(campaign);
}

static void ask_for_directions(void)
{
    struct dpot_campaign *campaign = &authority.campaign;
    dpot_domain_release(&campaign->domain);
    dpot_domain_release(&campaign->output);
    cr_assert_eq(dpot_domain_init_sphere(&campaign->domain, 3, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_directions(&campaign->output, 9, 3, NULL), DPOT_OK);
    use_uniform_base_measure(campaign);
}

Test(budget, of_memory_is_told_to_the_byte_for_every_mechanism)
{
    struct dpot_campaign *campaign = &authority.campaign;
    check_draft(); /* entropic, on a ring */
    ask_for_places(7, 5);
    check_draft();
    ask_for_listed_places();
    check_draft();
    campaign->mechanism = DPOT_MECHANISM_EXPONENTIAL;
    campaign->sensitivity = 1;
    check_draft();
    campaign->mechanism = DPOT_MECHANISM_KPM;
    check_draft();
    campaign->mechanism = DPOT_MECHANISM_WPM;
    ask_for_directions();
    check_draft();
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    check_draft();
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_GAUSSIAN);
    check_draft();
}

/* ---- the stack ---- */

#if !DPOT_IS_SANITIZED /* whose frames are larger, and which know one stack a thread */

#include <ucontext.h>

#define STACK_SIZE 65536
#define PAINT 0xa5

static struct painted {
    _Alignas(16) uint8_t stack[STACK_SIZE];
    ucontext_t caller, context;
    dpot_client *client;
    dpot_status status;
} painted;

static void submit_on_paint(void)
{
    painted.status = submit(painted.client);
}

/* The bytes of a fresh stack that a submit overwrites. */
static size_t measure_stack(void)
{
    size_t clean = 0;
    painted.client = enroll();
    memset(painted.stack, PAINT, sizeof painted.stack);
    cr_assert_eq(getcontext(&painted.context), 0);
    painted.context.uc_stack.ss_sp = painted.stack;
    painted.context.uc_stack.ss_size = sizeof painted.stack;
    painted.context.uc_link = &painted.caller;
    makecontext(&painted.context, submit_on_paint, 0);
    cr_assert_eq(swapcontext(&painted.caller, &painted.context), 0);
    cr_assert_eq(painted.status, DPOT_OK, "%s", dpot_client_last_error(painted.client));
    dpot_client_close(painted.client);
    while (painted.stack[clean] == PAINT) {
        clean++;
    }
    return sizeof painted.stack - clean;
}

/* 8 KiB where pointers have 32 bits, libsodium and protobuf-c included; with 64 bits and a dynamic
 * linker that saves vector registers in the first call of a function, some more. */
#define STACK_MAX (sizeof(void *) == 4 ? 8192 : 9216)

Test(budget, of_the_stack_is_kept_by_places_and_by_vectors)
{
    ask_for_places(20, 32);
    cr_assert_leq(measure_stack(), STACK_MAX);
    ask_for_places(50, 64);
    cr_assert_leq(measure_stack(), STACK_MAX);
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    cr_assert_leq(measure_stack(), STACK_MAX);
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_GAUSSIAN);
    cr_assert_leq(measure_stack(), STACK_MAX);
}

#endif
