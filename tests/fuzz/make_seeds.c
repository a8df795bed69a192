/* Writes the first inputs of each corpus: one well-formed message of every kind.
 *
 *     make_seeds tests/fuzz/corpus */
#include "fuzz.h"
#include "generator/model.h"
#include "proto/wire_artifact.h"
#include "proto/wire_campaign.h"
#include "proto/wire_inner.h"
#include "proto/wire_onnx.h"

#include <stdio.h>
#include <string.h>

static void write_seed(const char *root, const char *name, const struct dpot_buf *bytes)
{
    char path[1024];
    const int len = snprintf(path, sizeof path, "%s/%s", root, name);
    require(len > 0 && (size_t)len < sizeof path);
    FILE *file = fopen(path, "wb");
    require(file != NULL);
    require(fwrite(bytes->data, 1, bytes->len, file) == bytes->len);
    require(fclose(file) == 0);
}

static void make_campaign(struct dpot_campaign *campaign, uint32_t *mass_code, uint32_t size)
{
    *campaign = (struct dpot_campaign){.revision = 1,
                                       .name = "seed",
                                       .metric = {DPOT_METRIC_EUCLIDEAN, 0},
                                       .mechanism = DPOT_MECHANISM_WPM,
                                       .epsilon_q32 = DPOT_EPSILON_ONE,
                                       .lambda = 0.5,
                                       .iterations = 100,
                                       .n_max = 8,
                                       .cost_power = 1,
                                       .rounds = 1,
                                       .opens_ms = INT64_C(1764547200000),
                                       .closes_ms = INT64_C(1765152000000),
                                       .min_pool = 10};
    for (uint32_t j = 0; j < size; j++) {
        mass_code[j] = UINT32_MAX;
    }
    campaign->base_measure.mass_code = mass_code;
    campaign->base_measure.size = size;
    campaign->base_measure.total = (uint64_t)1 << 62;
}

static void write_campaign(const char *root, const char *name, const struct dpot_campaign *campaign)
{
    struct dpot_buf bytes, signed_bytes;
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN], secret_key[DPOT_SIGN_SECRET_LEN];
    char signed_name[64];
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    dpot_buf_init(&signed_bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    dpot_sign_keypair(public_key, secret_key);
    require(dpot_wire_campaign_encode(campaign, &bytes) == DPOT_OK);
    require(dpot_wire_campaign_sign(bytes.data, bytes.len, secret_key, &signed_bytes, NULL) ==
            DPOT_OK);
    write_seed(root, name, &bytes);
    require(snprintf(signed_name, sizeof signed_name, "%s-signed", name) > 0);
    write_seed(root, signed_name, &signed_bytes);
    dpot_buf_release(&bytes);
    dpot_buf_release(&signed_bytes);
}

static void write_campaigns(const char *root)
{
    const double lo[2] = {0, 0}, hi[2] = {1, 2}, points[4] = {0, 0.25, 1, -2};
    const uint32_t shape[2] = {2, 2};
    char groups[2][DPOT_CAMPAIGN_NAME_MAX + 1] = {"north", "south"};
    struct dpot_campaign campaign;
    uint32_t mass_code[4];

    make_campaign(&campaign, mass_code, 4);
    require(dpot_domain_init_grid(&campaign.domain, 2, lo, hi, shape, NULL) == DPOT_OK);
    campaign.output_is_domain = true;
    write_campaign(root, "fuzz_campaign/grid", &campaign);

    make_campaign(&campaign, mass_code, 2);
    require(dpot_domain_init_points(&campaign.domain, 2, 2, points, NULL, NULL) == DPOT_OK);
    require(dpot_domain_init_points(&campaign.output, 2, 2, points, NULL, NULL) == DPOT_OK);
    campaign.groups = groups;
    campaign.n_groups = 2;
    write_campaign(root, "fuzz_campaign/points", &campaign);
    dpot_domain_release(&campaign.domain);
    dpot_domain_release(&campaign.output);

    make_campaign(&campaign, mass_code, 4);
    require(dpot_domain_init_ring(&campaign.domain, 4, NULL) == DPOT_OK);
    campaign.output_is_domain = true;
    campaign.metric = (struct dpot_metric){DPOT_METRIC_RING, 4};
    campaign.simulation = campaign.sample_first = true;
    write_campaign(root, "fuzz_campaign/ring", &campaign);
    campaign.solver = DPOT_SOLVER_EXACT;
    campaign.lambda = 0;
    campaign.iterations = 0;
    write_campaign(root, "fuzz_campaign/exact", &campaign);

    make_campaign(&campaign, mass_code, 4);
    require(dpot_domain_init_sphere(&campaign.domain, 3, NULL) == DPOT_OK);
    require(dpot_domain_init_directions(&campaign.output, 4, 3, NULL) == DPOT_OK);
    campaign.solver = DPOT_SOLVER_EXACT;
    campaign.lambda = 0;
    campaign.iterations = 0;
    write_campaign(root, "fuzz_campaign/sphere", &campaign);
}

static void write_baselines(const char *root)
{
    struct dpot_campaign campaign;
    uint32_t mass_code[4];
    make_campaign(&campaign, mass_code, 4);
    require(dpot_domain_init_ring(&campaign.domain, 4, NULL) == DPOT_OK);
    campaign.output_is_domain = true;
    campaign.metric = (struct dpot_metric){DPOT_METRIC_RING, 4};
    campaign.lambda = 0;
    campaign.iterations = 0;
    campaign.mechanism = DPOT_MECHANISM_KPM;
    write_campaign(root, "fuzz_campaign/kpm", &campaign);
    campaign.mechanism = DPOT_MECHANISM_EXPONENTIAL;
    campaign.sensitivity = 2;
    write_campaign(root, "fuzz_campaign/exponential", &campaign);
}

static void write_vectors(const char *root)
{
    int64_t lo[2] = {-30, 0}, hi[2] = {40, 90};
    uint32_t keep[2] = {0, 3}, mass_code[4];
    struct dpot_campaign campaign;
    make_campaign(&campaign, mass_code, 4);
    campaign.base_measure = (struct dpot_base_measure){0};
    campaign.lambda = 0;
    campaign.iterations = campaign.n_max = 0;
    campaign.mechanism = DPOT_MECHANISM_LAPLACE;
    campaign.noise.scale_log2 = 8;
    campaign.vector = (struct dpot_vector_domain){.set = DPOT_VECTOR_BOX,
                                                  .dim = 2,
                                                  .n_sides = 2,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .grid_step = 0.5,
                                                  .inverse_step = 2};
    write_campaign(root, "fuzz_campaign/laplace", &campaign);
    campaign.mechanism = DPOT_MECHANISM_GAUSSIAN;
    campaign.epsilon_q32 = 0;
    campaign.noise = (struct dpot_noise_parameters){.scale_log2 = 12, .certificate_row = 3000};
    campaign.vector = (struct dpot_vector_domain){.set = DPOT_VECTOR_L2_BALL,
                                                  .dim = 2,
                                                  .radius = 300,
                                                  .grid_step = 1,
                                                  .inverse_step = 1,
                                                  .transform = {DPOT_TRANSFORM_DCT, 2, 3, 2, keep}};
    write_campaign(root, "fuzz_campaign/gaussian", &campaign);
    campaign.vector.set = DPOT_VECTOR_L1_BALL;
    campaign.noise.certificate_row = 0;
    write_campaign(root, "fuzz_campaign/zcdp", &campaign);
}

static void write_keys(const char *root)
{
    struct dpot_keys keys = {.n_seal_keys = 2};
    struct dpot_buf bytes;
    uint8_t secret_key[DPOT_SEAL_SECRET_LEN];
    for (size_t i = 0; i < keys.n_seal_keys; i++) {
        struct dpot_seal_key *key = &keys.seal_keys[i];
        dpot_seal_keypair(key->public_key, secret_key);
        dpot_seal_key_id(key->public_key, key->id);
        key->not_before_ms = 1000;
        key->not_after_ms = INT64_C(4102444800000);
    }
    dpot_buf_init(&bytes, DPOT_KEYS_BYTES_MAX, NULL);
    require(dpot_wire_keys_encode(&keys, &bytes, NULL) == DPOT_OK);
    write_seed(root, "fuzz_keys/two", &bytes);
    dpot_buf_release(&bytes);
}

/* The plain text of a padded body. */
static void write_padded_batch(const char *root, const struct dpot_batch *batch)
{
    const size_t len = (size_t)dpot_wire_batch_plain_len(batch->n_reports, 40);
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_BATCH_BYTES_MAX, NULL);
    require(dpot_buf_append_u32(&bytes, 0) == DPOT_OK);
    require(dpot_wire_batch_encode(batch, &bytes) == DPOT_OK);
    dpot_store_u32(bytes.data, (uint32_t)(bytes.len - DPOT_BATCH_LENGTH_LEN));
    require(dpot_buf_reserve(&bytes, len - bytes.len) == DPOT_OK);
    memset(bytes.data + bytes.len, 0, len - bytes.len);
    bytes.len = len;
    write_seed(root, "fuzz_batch/padded", &bytes);
    dpot_buf_release(&bytes);
}

static void write_batch(const char *root)
{
    struct dpot_report reports[3] = {{.index = 1}, {.index = 0, .group = 2}, {.test = true}};
    struct dpot_batch batch = {.round = 1, .n_reports = 3, .reports = reports};
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_BATCH_BYTES_MAX, NULL);
    require(dpot_wire_batch_encode(&batch, &bytes) == DPOT_OK);
    write_seed(root, "fuzz_batch/three", &bytes);
    write_padded_batch(root, &batch);
    dpot_buf_reset(&bytes);
    batch.has_losses = true;
    require(dpot_wire_batch_encode(&batch, &bytes) == DPOT_OK);
    memcpy(bytes.data + bytes.len - DPOT_BATCH_LOSSES_LEN, "\1\0\4", DPOT_BATCH_LOSSES_LEN);
    write_seed(root, "fuzz_batch/losses", &bytes);
    batch.has_losses = false;
    dpot_buf_reset(&bytes);
    int64_t values[4] = {0, -1, INT64_MAX, INT64_MIN};
    reports[0] = (struct dpot_report){.n_values = 4, .values = values};
    reports[2] = (struct dpot_report){.n_values = 1, .values = values + 1, .group = 1};
    require(dpot_wire_batch_encode(&batch, &bytes) == DPOT_OK);
    write_seed(root, "fuzz_batch/vectors", &bytes);
    dpot_buf_release(&bytes);
}

static void write_receipt(const char *root)
{
    enum dpot_report_status statuses[DPOT_REPORT_STATUS_END - 1];
    const size_t n = sizeof statuses / sizeof statuses[0];
    const uint8_t first = (uint8_t)n;
    uint8_t digest[DPOT_HASH_LEN];
    struct dpot_buf bytes;
    for (size_t i = 0; i < n; i++) {
        statuses[i] = (enum dpot_report_status)(i + 1);
    }
    dpot_buf_init(&bytes, DPOT_BATCH_BYTES_MAX, NULL);
    require(dpot_buf_append(&bytes, &first, 1) == DPOT_OK);
    require(dpot_wire_receipt_encode(statuses, n, NULL, &bytes) == DPOT_OK);
    write_seed(root, "fuzz_receipt/all", &bytes);
    dpot_buf_reset(&bytes); /* and one that answers the POST which fuzz_receipt.c expects */
    dpot_wire_batch_digest(&first, 1, digest);
    require(dpot_buf_append(&bytes, &first, 1) == DPOT_OK);
    require(dpot_wire_receipt_encode(statuses, n, digest, &bytes) == DPOT_OK);
    write_seed(root, "fuzz_receipt/named", &bytes);
    dpot_buf_release(&bytes);
}

/* A list of a gateway: two bodies, one of them empty. */
static void write_forward(const char *root)
{
    static const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {1, 2, 3};
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_BATCH_BYTES_MAX, NULL);
    require(dpot_buf_append(&bytes, "DPF1", 4) == DPOT_OK);
    write_seed(root, "fuzz_forward/none", &bytes);
    require(dpot_buf_append(&bytes, id, sizeof id) == DPOT_OK);
    require(dpot_buf_append_u32(&bytes, 12) == DPOT_OK);
    require(dpot_buf_append(&bytes, "DPB2 and box", 12) == DPOT_OK);
    require(dpot_buf_append(&bytes, id, sizeof id) == DPOT_OK);
    require(dpot_buf_append_u32(&bytes, 0) == DPOT_OK);
    write_seed(root, "fuzz_forward/two", &bytes);
    bytes.len--;
    write_seed(root, "fuzz_forward/cut", &bytes);
    dpot_buf_release(&bytes);
}

static void write_artifacts(const char *root)
{
    double values[3] = {0.5, 0.25, 1e-9};
    uint64_t counts[3] = {812, 0, 1};
    struct dpot_artifact artifact = {.kind = "estimate",
                                     .program_version = "0.1.0",
                                     .has_pool = true,
                                     .pool_count = 813,
                                     .parameters = "{}",
                                     .n_values = 3,
                                     .values = values,
                                     .n_counts = 3,
                                     .counts = counts};
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    require(dpot_wire_artifact_encode(&artifact, &bytes, NULL) == DPOT_OK);
    write_seed(root, "fuzz_artifact/estimate", &bytes);
    dpot_buf_reset(&bytes);
    artifact.has_pool = false;
    artifact.n_counts = 0;
    require(dpot_artifact_add_number(&artifact, "objective", 0.75) == DPOT_OK);
    require(dpot_artifact_add_number(&artifact, "total_mass", 1) == DPOT_OK);
    require(dpot_wire_artifact_encode(&artifact, &bytes, NULL) == DPOT_OK);
    write_seed(root, "fuzz_artifact/measure", &bytes);
    dpot_buf_reset(&bytes);
    uint8_t model[5] = {8, 7, 0x12, 1, 'x'};
    artifact.model = model;
    artifact.n_model = sizeof model;
    require(dpot_wire_artifact_encode(&artifact, &bytes, NULL) == DPOT_OK);
    write_seed(root, "fuzz_artifact/model", &bytes);
    dpot_buf_release(&bytes);
}

static void write_generator(const char *root, const char *name, const char *architecture,
                            size_t dim, enum network_bound bound)
{
    struct generator_model model = {0};
    struct dpot_buf bytes;
    const struct network_config config = {.architecture = architecture,
                                          .latent_dim = 2,
                                          .dim = dim,
                                          .bound = bound,
                                          .lo = -1,
                                          .hi = 1,
                                          .max_batch = 1};
    require(network_new(&config, &model.network, NULL) == DPOT_OK);
    network_initialise(model.network, 1);
    require(generator_model_note(&model, "epsilon", "5", NULL) == DPOT_OK);
    dpot_buf_init(&bytes, DPOT_ONNX_BYTES_MAX, NULL);
    require(generator_model_encode(&model, &bytes, NULL) == DPOT_OK);
    write_seed(root, name, &bytes);
    dpot_buf_release(&bytes);
    generator_model_release(&model);
}

static void write_generators(const char *root)
{
    write_generator(root, "fuzz_onnx/mlp", "mlp:3", 2, NETWORK_UNBOUNDED);
    write_generator(root, "fuzz_onnx/linear", "mlp", 1, NETWORK_SIGMOID);
    write_generator(root, "fuzz_onnx/dcgan", "dcgan28:2", 784, NETWORK_TANH);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_seeds FOLDER\n");
        return 2;
    }
    require(dpot_init() == DPOT_OK);
    write_campaigns(argv[1]);
    write_baselines(argv[1]);
    write_vectors(argv[1]);
    write_keys(argv[1]);
    write_batch(argv[1]);
    write_receipt(argv[1]);
    write_forward(argv[1]);
    write_artifacts(argv[1]);
    write_generators(argv[1]);
    return 0;
}
