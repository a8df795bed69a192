#include "privacy/pairs.h"

#include "base/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CAP 1048576 /* of epsilon: never reached */
#define DELTA_CAP 0.99
#define LAST_MS INT64_C(253402300799000) /* the end of 9999 */

/* ---- the server: campaigns and keys ---- */

static dpot_status serve(const struct dpot_http_request *request,
                         struct dpot_http_response *response, const struct dpot_buf *body)
{
    response->status = body ? 200 : 404;
    return body ? request->on_body(request->sink, body->data, body->len) : DPOT_OK;
}

static dpot_status perform(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response)
{
    const struct pairs *p = ctx;
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    for (size_t i = 0; i < p->n_campaigns; i++) {
        dpot_hex_encode(hex, p->subjects[i].campaign.id, DPOT_CAMPAIGN_ID_LEN);
        if (strstr(request->url, hex)) {
            return serve(request, response, &p->signed_campaigns[i]);
        }
    }
    return serve(request, response,
                 strstr(request->url, "/v1/keys") ? &p->authority.signed_keys : NULL);
}

/* ---- what is printed ---- */

static void catch_output(struct pairs *p)
{
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    (void)fflush(NULL);
    p->said = dup(fileno(file));
    (void)fclose(file);
    for (int i = 0; i < 2; i++) {
        p->standard[i] = dup(STDOUT_FILENO + i);
        cr_assert_geq(dup2(p->said, STDOUT_FILENO + i), 0);
    }
}

static off_t release_output(struct pairs *p)
{
    (void)fflush(NULL);
    const off_t len = lseek(p->said, 0, SEEK_END);
    for (int i = 0; i < 2; i++) {
        (void)dup2(p->standard[i], STDOUT_FILENO + i);
        (void)close(p->standard[i]);
    }
    (void)close(p->said);
    return len;
}

/* ---- setting up ---- */

static void add_campaign(struct pairs *p, const char *name, uint32_t rounds)
{
    struct dpot_error error = {{0}};
    const size_t i = p->n_campaigns++;
    struct dpot_campaign *campaign = &p->subjects[i].campaign;
    cr_assert_lt(i, PAIRS_CAMPAIGNS_MAX);
    cr_assert_eq(subject_init(&p->subjects[i], name, true, &error), DPOT_OK, "%s", error.text);
    campaign->rounds = rounds;
    campaign->closes_ms = campaign->opens_ms + rounds * PAIRS_ROUND_MS;
    authority_sign_campaign(&p->authority, campaign, &p->signed_campaigns[i]);
}

/* Its keys are valid whenever the campaigns are open. */
static void prepare_authority(struct pairs *p)
{
    struct authority *a = &p->authority;
    authority_init(a, 1);
    for (size_t i = 0; i < a->keys.n_seal_keys; i++) {
        a->keys.seal_keys[i].not_before_ms = 0;
        a->keys.seal_keys[i].not_after_ms = LAST_MS - (int64_t)i * 1000;
    }
    authority_sign_keys(a);
    p->seal_secret.key = a->keys.seal_keys[0];
    memcpy(p->seal_secret.secret_key, a->seal_secrets[0], sizeof p->seal_secret.secret_key);
}

static void prepare_config(struct pairs *p)
{
    struct dpot_client_config *config = &p->config;
    dpot_client_config_init(config, sizeof *config);
    config->server_url = "https://pool.example.org";
    memcpy(config->pin, p->authority.pin, sizeof config->pin);
    config->campaign_epsilon_cap = config->window_epsilon_cap = config->lifetime_epsilon_cap = CAP;
    config->campaign_delta_cap = config->window_delta_cap = config->lifetime_delta_cap = DELTA_CAP;
    config->window_seconds = 86400;
    config->group = 2;
    config->spool_max_bytes = 0;
}

void pairs_init(struct pairs *p, const char *const *names, uint32_t rounds, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->random = seed;
    prepare_authority(p);
    for (; *names; names++) {
        add_campaign(p, *names, rounds);
    }
    p->server = (struct dpot_transport){sizeof p->server, p, perform};
    prepare_config(p);
    catch_output(p);
}

static void open_device(struct pairs *p, int i)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(scripted_device_open(&p->device[i], &error), DPOT_OK, "%s", error.text);
}

void pairs_open(struct pairs *p)
{
    const int64_t opens_ms = pairs_opens(p, 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(
            scripted_device_init(&p->device[i], &p->config, &p->server, &p->seal_secret, opens_ms),
            DPOT_OK);
        scripted_device_seed(&p->device[i], p->random, 0, true);
    }
    open_device(p, 0);
    for (size_t i = 0; i < p->n_campaigns; i++) {
        cr_assert_eq(dpot_client_enroll(p->device[0].client, p->subjects[i].campaign.id), DPOT_OK,
                     "%s: %s", p->subjects[i].name, dpot_client_last_error(p->device[0].client));
    }
    scripted_device_close(&p->device[0]);
    cr_assert_eq(recorder_copy_folder(&p->device[0].recorder, p->device[1].folder), DPOT_OK);
    for (int i = 0; i < 2; i++) {
        recorder_forget(&p->device[i].recorder);
        scripted_device_seed(&p->device[i], p->random, 1, true);
        open_device(p, i);
    }
    pairs_compare(p);
}

void pairs_release(struct pairs *p)
{
    const off_t printed = p->n_campaigns > 0 ? release_output(p) : 0;
    scripted_device_release(&p->device[0]);
    scripted_device_release(&p->device[1]);
    for (size_t i = 0; i < p->n_campaigns; i++) {
        subject_release(&p->subjects[i]);
        dpot_buf_release(&p->signed_campaigns[i]);
    }
    authority_release(&p->authority);
    memset(p, 0, sizeof *p);
    cr_assert_eq(printed, 0, "%lld bytes were printed", (long long)printed);
}

void pairs_compare(struct pairs *p)
{
    char difference[RECORDER_DIFFERENCE_SIZE];
    struct recorder *a = &p->device[0].recorder, *b = &p->device[1].recorder;
    cr_assert_not(recorder_differs(a, b, difference), "after %zu pairs: %s", p->n_pairs,
                  difference);
    recorder_forget(a);
    recorder_forget(b);
}

/* ---- data ---- */

static size_t below(struct pairs *p, size_t n)
{
    return splitmix_below(&p->random, n);
}

static double strange_number(struct pairs *p)
{
    static const double numbers[] = {NAN,     INFINITY, -INFINITY, 0,      -0.0, 5e-324,
                                     -1e-310, 1e-308,   1e300,     -1e300, 1.0,  -1.0};
    return numbers[below(p, sizeof numbers / sizeof numbers[0])];
}

static double ordinary_number(struct pairs *p)
{
    return (splitmix_unit(&p->random) - 0.2) * 8;
}

static size_t draw_count(struct pairs *p)
{
    static const size_t most[] = {1, 2, 5, 70, PAIRS_POINTS_MAX + 1};
    const size_t kind = below(p, 20); /* the largest seldom: they take most of the time */
    return below(p, most[kind < 16 ? kind % 4 : 4]);
}

/* Random, equal, adjacent, far apart, extreme, or mixed. */
static void fill_points(struct pairs *p, double *points, size_t n, uint32_t dim)
{
    const size_t kind = below(p, 6);
    const double first = ordinary_number(p);
    for (size_t i = 0; i < n * dim; i++) {
        const double near = first + (double)(i / dim % 64) * 0.01;
        points[i] = kind == 0   ? ordinary_number(p)
                    : kind == 1 ? first
                    : kind == 2 ? near
                    : kind == 3 ? (i / dim % 2 ? 1e9 : -1e9)
                    : kind == 4 ? strange_number(p)
                                : (i % 7 ? ordinary_number(p) : strange_number(p));
    }
}

static void fill_weights(struct pairs *p, double *weights, size_t n)
{
    const bool is_strange = below(p, 2) == 0;
    for (size_t i = 0; i < n; i++) {
        weights[i] = is_strange ? strange_number(p) : splitmix_unit(&p->random);
    }
}

static void draw_points(struct pairs *p, const struct subject *subject, struct pairs_data *d)
{
    d->data.n = draw_count(p);
    d->data.dim = subject->dim;
    fill_points(p, d->points, d->data.n, subject->dim);
    d->data.points = d->data.n > 0 || below(p, 2) ? d->points : NULL;
    if (below(p, 2)) {
        fill_weights(p, d->weights, d->data.n);
        d->data.weights = d->weights;
    }
}

static void draw_histogram(struct pairs *p, const struct subject *subject, struct pairs_data *d)
{
    d->data.size = subject->campaign.domain.size;
    cr_assert_leq(d->data.size, PAIRS_DOMAIN_MAX);
    fill_weights(p, d->histogram, d->data.size);
    d->data.histogram = d->histogram;
}

/* Points and histograms, or a vector, or vectors of a sphere by either call. The kind is public:
 * both devices use the same. */
static void draw_data(struct pairs *p, const struct subject *subject, bool is_other_kind,
                      struct pairs_data *d)
{
    const bool is_vector = dpot_mechanism_is_vector(subject->campaign.mechanism);
    const bool is_sphere = dpot_campaign_is_sphere(&subject->campaign);
    d->data = (struct scripted_device_data){.dim = subject->dim};
    if (is_vector || (is_sphere && is_other_kind)) {
        fill_points(p, d->points, 1, subject->dim);
        d->data.is_vector = true;
        d->data.points = below(p, 20) ? d->points : NULL;
    } else if (is_other_kind) {
        draw_histogram(p, subject, d);
    } else {
        draw_points(p, subject, d);
    }
}

/* ---- actions of both ---- */

int64_t pairs_opens(const struct pairs *p, uint32_t round)
{
    return dpot_campaign_round_opens(&p->subjects[0].campaign, round);
}

void pairs_set_clock(struct pairs *p, int64_t now_ms)
{
    for (int i = 0; i < 2; i++) {
        struct recorder *w = &p->device[i].recorder;
        cr_assert_leq(w->now_ms, now_ms);
        w->now_ms = now_ms;
    }
}

void pairs_submit(struct pairs *p, size_t i)
{
    const struct subject *subject = &p->subjects[i];
    const bool is_other_kind = below(p, 3) == 0;
    const int64_t longer = (int64_t)below(p, 2);
    for (int64_t k = 0; k < 2; k++) {
        draw_data(p, subject, is_other_kind, &p->data[k]);
        scripted_device_submit(&p->device[k], subject->campaign.id, &p->data[k].data,
                               k == longer ? SCRIPTED_DEVICE_WORK_MS - 1 : 0);
    }
    p->n_pairs++;
}

void pairs_set_answer(struct pairs *p, struct scripted_device_answer answer)
{
    p->device[0].answer = p->device[1].answer = answer;
}

void pairs_pump(struct pairs *p)
{
    scripted_device_pump(&p->device[0]);
    scripted_device_pump(&p->device[1]);
}

void pairs_send(struct pairs *p)
{
    scripted_device_send(&p->device[0]);
    scripted_device_send(&p->device[1]);
}

void pairs_status(struct pairs *p)
{
    for (size_t i = 0; i < p->n_campaigns; i++) {
        scripted_device_note_status(&p->device[0], p->subjects[i].campaign.id);
        scripted_device_note_status(&p->device[1], p->subjects[i].campaign.id);
    }
}

void pairs_state(struct pairs *p)
{
    scripted_device_note_statement(&p->device[0]);
    scripted_device_note_statement(&p->device[1]);
}

void pairs_restart(struct pairs *p)
{
    for (int i = 0; i < 2; i++) {
        scripted_device_close(&p->device[i]);
        open_device(p, i);
    }
}
