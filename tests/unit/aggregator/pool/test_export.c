/* Vector pools: decoded, described, exported, named by a checksum. */
#include "pool/describe.h"
#include "pool/export.h"
#include "pool/snapshot.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N_REPORTS 5
#define BYTES_MAX 4096

static struct store *store;
static uint8_t secret_key[DPOT_SIGN_SECRET_LEN];
static struct revision_record record;

static void set_up(void)
{
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN];
    cr_assert_eq(dpot_init(), DPOT_OK);
    dpot_sign_keypair(public_key, secret_key);
    cr_assert_eq(store_open("sqlite::memory:", &store, NULL), DPOT_OK);
}

static void tear_down(void)
{
    store_close(store);
}

TestSuite(pool_vectors, .init = set_up, .fini = tear_down);

/* Opens the campaign and adds reports 0 .. N_REPORTS - 1, in order, in two commits. */
static void fill(const struct dpot_campaign *campaign, int64_t *values, struct dpot_report *reports)
{
    const uint32_t dim = campaign->vector.dim;
    vectors_open(store, campaign, secret_key, &record);
    for (uint32_t i = 0; i < N_REPORTS; i++) {
        reports[i] = vectors_report(i, dim, 200, values + (size_t)i * dim);
    }
    vectors_append(store, record.hash, 0, reports, 2);
    vectors_append(store, record.hash, 0, reports + 2, N_REPORTS - 2);
    fixture_sort(reports, N_REPORTS);
}

/* Exports into `bytes` and returns their number. */
static size_t export_to(const struct dpot_campaign *campaign, enum decode_space space,
                        uint8_t *bytes)
{
    struct dpot_error error = {{0}};
    FILE *stream = tmpfile();
    cr_assert_not_null(stream);
    cr_assert_eq(export_pool(store, record.hash, campaign, space, stream, &error), DPOT_OK, "%s",
                 error.text);
    rewind(stream);
    const size_t len = fread(bytes, 1, BYTES_MAX, stream);
    (void)fclose(stream);
    return len;
}

static double number_at(const uint8_t *bytes, size_t i)
{
    const uint64_t bits = dpot_load_u64(bytes + 8 * i);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

Test(pool_vectors, without_a_transform_numbers_are_exported_in_data_units_in_order)
{
    const struct dpot_campaign campaign = vectors_laplace(3);
    int64_t values[N_REPORTS][3];
    struct dpot_report reports[N_REPORTS];
    uint8_t bytes[BYTES_MAX], raw[BYTES_MAX];
    fill(&campaign, values[0], reports);
    cr_assert_eq(export_to(&campaign, DECODE_DATA, bytes), 8 * 3 * N_REPORTS);
    for (size_t i = 0; i < 3 * N_REPORTS; i++) {
        cr_assert_eq(number_at(bytes, i), 0.25 * (double)reports[i / 3].values[i % 3]);
    }
    cr_assert_eq(export_to(&campaign, DECODE_COEFFICIENTS, raw), 8 * 3 * N_REPORTS);
    cr_assert_eq(memcmp(bytes, raw, 8 * 3 * N_REPORTS), 0);
}

/* The inverse of the orthonormal DCT of 2 x 4, written out. */
static double inverse_at(const double *c, size_t row, size_t col)
{
    static const size_t keep[VECTORS_DCT_DIM][2] = {{0, 0}, {0, 1}, {1, 0}};
    double sum = 0;
    for (size_t k = 0; k < VECTORS_DCT_DIM; k++) {
        const double u = (double)keep[k][0], v = (double)keep[k][1];
        const double a = keep[k][0] == 0 ? sqrt(1.0 / 2) : 1.0;
        const double b = keep[k][1] == 0 ? sqrt(1.0 / 4) : sqrt(2.0 / 4);
        sum += c[k] * a * b * cos(acos(-1) * (2 * (double)row + 1) * u / 4) *
               cos(acos(-1) * (2 * (double)col + 1) * v / 8);
    }
    return sum;
}

Test(pool_vectors, with_a_dct_data_are_whole_images_and_coefficients_what_was_kept)
{
    const struct dpot_campaign campaign = vectors_gaussian();
    int64_t values[N_REPORTS][VECTORS_DCT_DIM];
    struct dpot_report reports[N_REPORTS];
    uint8_t bytes[BYTES_MAX];
    fill(&campaign, values[0], reports);
    cr_assert_eq(export_to(&campaign, DECODE_COEFFICIENTS, bytes), 8 * VECTORS_DCT_DIM * N_REPORTS);
    for (size_t i = 0; i < VECTORS_DCT_DIM * N_REPORTS; i++) {
        cr_assert_eq(number_at(bytes, i),
                     0.5 * (double)reports[i / VECTORS_DCT_DIM].values[i % VECTORS_DCT_DIM]);
    }
    cr_assert_eq(export_to(&campaign, DECODE_DATA, bytes), 8 * VECTORS_DCT_DATA_DIM * N_REPORTS);
    for (size_t i = 0; i < N_REPORTS; i++) {
        double c[VECTORS_DCT_DIM];
        for (size_t k = 0; k < VECTORS_DCT_DIM; k++) {
            c[k] = 0.5 * (double)reports[i].values[k];
        }
        for (size_t p = 0; p < VECTORS_DCT_DATA_DIM; p++) {
            cr_assert_float_eq(number_at(bytes, i * VECTORS_DCT_DATA_DIM + p),
                               inverse_at(c, p / 4, p % 4), 1e-12);
        }
    }
}

Test(pool_vectors, an_index_pool_has_no_coefficients)
{
    struct dpot_campaign campaign = {.mechanism = DPOT_MECHANISM_KPM};
    struct dpot_error error = {{0}};
    struct decoder *decoder = NULL;
    FILE *stream = tmpfile();
    cr_assert_not_null(stream);
    cr_assert_eq(export_pool(store, record.hash, &campaign, DECODE_COEFFICIENTS, stream, &error),
                 DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(error.text, "kpm"), "%s", error.text);
    cr_assert_eq(decoder_new(&campaign, DECODE_DATA, &decoder, NULL), DPOT_ERR_SHAPE);
    cr_assert_null(decoder);
    (void)fclose(stream);
}

Test(pool_vectors, a_full_disk_ends_an_export_with_a_sentence)
{
    const struct dpot_campaign campaign = vectors_laplace(3);
    int64_t values[N_REPORTS][3];
    struct dpot_report reports[N_REPORTS];
    struct dpot_error error = {{0}};
    fill(&campaign, values[0], reports);
    FILE *full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    cr_assert_eq(setvbuf(full, NULL, _IONBF, 0), 0);
    cr_assert_eq(export_pool(store, record.hash, &campaign, DECODE_DATA, full, &error),
                 DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "free space"), "%s", error.text);
    (void)fclose(full);
}

Test(pool_vectors, stored_reports_of_another_shape_are_corrupt_to_every_reader)
{
    const struct dpot_campaign campaign = vectors_laplace(3);
    struct dpot_campaign wider = vectors_laplace(4), points = {.mechanism = DPOT_MECHANISM_WPM};
    int64_t values[N_REPORTS][3];
    struct dpot_report reports[N_REPORTS];
    struct dpot_error error = {{0}};
    points.output.size = 10;
    fill(&campaign, values[0], reports);
    FILE *stream = tmpfile();
    cr_assert_not_null(stream);
    cr_assert_eq(export_pool(store, record.hash, &wider, DECODE_DATA, stream, &error),
                 DPOT_ERR_CORRUPT);
    cr_assert_not_null(strstr(error.text, "3 numbers"), "%s", error.text);
    cr_assert_eq(export_pool(store, record.hash, &points, DECODE_DATA, stream, NULL),
                 DPOT_ERR_CORRUPT);
    cr_assert_eq(ftell(stream), 0);
    (void)fclose(stream);
}

/* ---- the description ---- */

static json_t *describe(const struct dpot_campaign *campaign)
{
    static const uint8_t hash[DPOT_HASH_LEN] = {0xab};
    const struct pool_count count = {.n_accepted = 2, .n_duplicate = 1, .n_rejected = {[3] = 4}};
    json_t *pool = describe_pool(campaign, hash, &count);
    cr_assert_not_null(pool);
    cr_assert_eq(strncmp(json_string_value(json_object_get(pool, "campaign_hash")), "ab00", 4), 0);
    cr_assert_eq(json_integer_value(json_object_get(pool, "n")), 2);
    cr_assert(json_is_boolean(json_object_get(pool, "is_ready")));
    return pool;
}

static int64_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

Test(pool_vectors, a_description_tells_scale_lengths_and_transform)
{
    const struct dpot_campaign box = vectors_laplace(6), images = vectors_gaussian();
    json_t *pool = describe(&box);
    cr_assert_eq(json_number_value(json_object_get(pool, "scale")), 2); /* 2^3 times 0.25 */
    /* D1 / t = 60 / 8, and the 2^-32 that this campaign charges more */
    cr_assert_float_eq(json_number_value(json_object_get(pool, "epsilon")), 7.5, 1e-9);
    cr_assert(json_is_number(json_object_get(pool, "delta")));
    cr_assert_eq(json_number_value(json_object_get(pool, "delta")), 0);
    cr_assert_eq(integer_of(pool, "dim"), 6);
    cr_assert_eq(integer_of(pool, "data_dim"), 6);
    const json_t *transform = json_object_get(pool, "transform");
    cr_assert_str_eq(json_string_value(json_object_get(transform, "type")), "none");
    json_decref(pool);

    pool = describe(&images);
    cr_assert_str_eq(json_string_value(json_object_get(pool, "mechanism")), "gaussian");
    cr_assert(json_is_null(json_object_get(pool, "epsilon")), "it has no certificate row");
    cr_assert(json_is_null(json_object_get(pool, "delta")));
    cr_assert_eq(json_number_value(json_object_get(pool, "scale")), 32); /* 2^6 times 0.5 */
    cr_assert_eq(integer_of(pool, "dim"), VECTORS_DCT_DIM);
    cr_assert_eq(integer_of(pool, "data_dim"), VECTORS_DCT_DATA_DIM);
    transform = json_object_get(pool, "transform");
    cr_assert_str_eq(json_string_value(json_object_get(transform, "type")), "dct");
    json_t *shape = json_object_get(transform, "shape"), *keep = json_object_get(transform, "keep");
    cr_assert_eq(json_integer_value(json_array_get(shape, 0)), 2);
    cr_assert_eq(json_integer_value(json_array_get(shape, 1)), 4);
    cr_assert_eq(json_array_size(keep), VECTORS_DCT_DIM);
    cr_assert_eq(json_integer_value(json_array_get(keep, 2)), 4);
    json_decref(pool);
}

Test(pool_vectors, a_pool_of_points_has_no_scale_and_no_lengths)
{
    static const uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    struct dpot_campaign campaign;
    json_t *spec = fixture_spec();
    cr_assert_eq(spec_compile(spec, id, 4, &campaign, NULL), DPOT_OK);
    json_decref(spec);
    json_t *pool = describe(&campaign);
    dpot_campaign_release(&campaign);
    cr_assert_eq(integer_of(pool, "revision"), 4);
    cr_assert_eq(json_string_length(json_object_get(pool, "content_digest")), 2 * DPOT_HASH_LEN);
    cr_assert(json_is_null(json_object_get(pool, "scale")));
    cr_assert_null(json_object_get(pool, "dim"));
    cr_assert_null(json_object_get(pool, "transform"));
    cr_assert(json_is_false(json_object_get(pool, "is_ready")));
    cr_assert_eq(integer_of(json_object_get(pool, "rejected"), "malformed"), 4);
    json_decref(pool);
}

/* ---- the snapshot ---- */

static int count_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    (void)round;
    (void)report;
    ++*(size_t *)ctx;
    return 0;
}

static struct snapshot snapshot_of(const struct dpot_campaign *campaign)
{
    struct snapshot snapshot = {.store = store, .campaign = campaign, .n_accepted = N_REPORTS};
    memcpy(snapshot.hash, record.hash, sizeof snapshot.hash);
    return snapshot;
}

Test(pool_vectors, a_checksum_is_over_round_id_count_and_numbers)
{
    enum { DIM = 300, ROW_LEN = 4 + DPOT_REPORT_ID_LEN + 4 + 8 * DIM };
    static int64_t values[N_REPORTS][DIM];
    static uint8_t rows[N_REPORTS * ROW_LEN];
    const struct dpot_campaign campaign = vectors_laplace(DIM);
    struct dpot_report reports[N_REPORTS];
    uint8_t checksum[DPOT_HASH_LEN], expected[DPOT_HASH_LEN];
    uint64_t n_read = 0;
    size_t n = 0;
    fill(&campaign, values[0], reports);
    for (size_t i = 0; i < N_REPORTS; i++) {
        uint8_t *row = rows + i * ROW_LEN;
        dpot_store_u32(row, 0);
        memcpy(row + 4, reports[i].id, DPOT_REPORT_ID_LEN);
        dpot_store_u32(row + 20, DIM);
        for (size_t j = 0; j < DIM; j++) {
            dpot_store_u64(row + 24 + 8 * j, (uint64_t)reports[i].values[j]);
        }
    }
    dpot_hash(expected, rows, sizeof rows);
    const struct snapshot snapshot = snapshot_of(&campaign);
    cr_assert_eq(snapshot_read(&snapshot, count_report, &n, &n_read, checksum, NULL), DPOT_OK);
    cr_assert_eq(n, N_REPORTS);
    cr_assert_eq(n_read, N_REPORTS);
    cr_assert_arr_eq(checksum, expected, sizeof expected);
}

Test(pool_vectors, a_job_never_sees_a_report_of_another_shape)
{
    const struct dpot_campaign campaign = vectors_laplace(3);
    struct dpot_campaign points = {.mechanism = DPOT_MECHANISM_WPM};
    int64_t values[N_REPORTS][3];
    struct dpot_report reports[N_REPORTS];
    uint8_t checksum[DPOT_HASH_LEN];
    struct dpot_error error = {{0}};
    uint64_t n_read = 0;
    size_t n = 0;
    points.output.size = 10;
    fill(&campaign, values[0], reports);
    const struct snapshot snapshot = snapshot_of(&points);
    cr_assert_eq(snapshot_read(&snapshot, count_report, &n, &n_read, checksum, &error),
                 DPOT_ERR_CORRUPT);
    cr_assert_eq(n, 0);
    cr_assert_not_null(strstr(error.text, "backup"), "%s", error.text);
}

/* ---- groups ---- */

static char labels[3][DPOT_CAMPAIGN_NAME_MAX + 1] = {"north", "south", "west"};

static struct dpot_campaign grouped(void)
{
    struct dpot_campaign campaign = vectors_laplace(2);
    campaign.n_groups = 3;
    campaign.groups = labels;
    return campaign;
}

Test(pool_vectors, groups_are_exported_in_the_order_of_their_reports)
{
    static const uint32_t groups[N_REPORTS] = {2, 0, 0, 1, 2};
    const struct dpot_campaign campaign = grouped();
    int64_t values[N_REPORTS][2];
    struct dpot_report reports[N_REPORTS];
    uint8_t bytes[BYTES_MAX];
    vectors_open(store, &campaign, secret_key, &record);
    for (uint32_t i = 0; i < N_REPORTS; i++) {
        reports[i] = vectors_report(i, 2, 200, values[i]);
        reports[i].group = groups[i];
    }
    vectors_append(store, record.hash, 0, reports, 2);
    vectors_append(store, record.hash, 0, reports + 2, N_REPORTS - 2);
    FILE *stream = tmpfile();
    cr_assert_not_null(stream);
    cr_assert_eq(export_groups(store, record.hash, &campaign, stream, NULL), DPOT_OK);
    rewind(stream);
    cr_assert_eq(fread(bytes, 1, BYTES_MAX, stream), 4 * N_REPORTS);
    (void)fclose(stream);
    fixture_sort(reports, N_REPORTS);
    for (size_t i = 0; i < N_REPORTS; i++) {
        cr_assert_eq(dpot_load_u32(bytes + 4 * i), reports[i].group);
    }
}

Test(pool_vectors, a_description_names_the_groups_there_are)
{
    const struct pool_count count = {.n_accepted = 1};
    const struct dpot_campaign with = grouped(), without = vectors_laplace(2);
    const uint8_t hash[DPOT_HASH_LEN] = {1};
    json_t *pool = describe_pool(&with, hash, &count);
    cr_assert_eq(json_array_size(json_object_get(pool, "groups")), 3);
    cr_assert_str_eq(json_string_value(json_array_get(json_object_get(pool, "groups"), 1)),
                     "south");
    json_decref(pool);
    pool = describe_pool(&without, hash, &count);
    cr_assert_null(json_object_get(pool, "groups"));
    json_decref(pool);
}

/* The checksum is over the groups, too, where there are any. */
static int ignore_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    (void)ctx;
    (void)round;
    (void)report;
    return 0;
}

Test(pool_vectors, a_checksum_tells_the_groups_of_the_reports)
{
    uint8_t checksums[2][DPOT_HASH_LEN];
    uint64_t n_read = 0;
    for (uint32_t i = 0; i < 2; i++) {
        struct dpot_campaign campaign = grouped();
        int64_t values[2];
        struct dpot_report report = vectors_report(7, 2, 200, values);
        report.group = i;
        campaign.id[5] = (uint8_t)i;
        vectors_open(store, &campaign, secret_key, &record);
        vectors_append(store, record.hash, 0, &report, 1);
        struct snapshot snapshot = {.store = store, .campaign = &campaign, .n_accepted = 1};
        memcpy(snapshot.hash, record.hash, sizeof snapshot.hash);
        cr_assert_eq(snapshot_read(&snapshot, ignore_report, NULL, &n_read, checksums[i], NULL),
                     DPOT_OK);
        cr_assert_eq(n_read, 1);
    }
    cr_assert_neq(memcmp(checksums[0], checksums[1], DPOT_HASH_LEN), 0);
}
