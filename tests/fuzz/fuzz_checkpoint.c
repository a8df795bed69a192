/* Training checkpoints and trained classifiers. The first byte: 0 a classifier, 1 a checkpoint as
 * it is, 2 one whose head and checksum are corrected first. */
#include "fuzz.h"
#include "generator/checkpoint.h"
#include "generator/classifier_file.h"
#include "generator/training.h"
#include "input_file.h"
#include "ot/linalg_f32.h"
#include "json/json.h"

#include <string.h>

#define INPUT_MAX 65536
#define HEAD (8 + DPOT_HASH_LEN)

static const char given[] =
    "{\"arch\":\"mlp:3\",\"latent_dim\":1,\"batch\":4,\"atoms\":6,\"sinkhorn\":3,\"steps\":4}";
static double reports[12] = {1.2, -0.9, 0.8, -1.1, 1.0, -1.3, 0.9, -0.7, 1.4, -1.0, 1.1, -0.8};

static void begin(struct training *training)
{
    static struct training_input input = {
        .n = 12, .dim = 1, .noise = DPOT_NOISE_LAPLACE, .scale = 0.5, .program = "fuzz"};
    json_t *settings = NULL;
    input.reports = reports;
    require(json_parse(given, sizeof given - 1, &settings, NULL) == DPOT_OK);
    require(settings_read(settings, "", DPOT_NOISE_LAPLACE, 1, 12, &input.settings, NULL) ==
            DPOT_OK);
    json_decref(settings);
    require(training_init(training, &input, NULL) == DPOT_OK);
}

static void read_checkpoint(const uint8_t *data, size_t len, bool is_mended)
{
    static uint8_t bytes[INPUT_MAX + HEAD + DPOT_HASH_LEN];
    struct training training;
    struct dpot_error error = {""};
    begin(&training);
    const char *path = NULL;
    if (is_mended) {
        memcpy(bytes, "DPOTGCP1", 8);
        memcpy(bytes + 8, training.fingerprint, DPOT_HASH_LEN);
        memcpy(bytes + HEAD, data, len);
        dpot_hash(bytes + HEAD + len, bytes, HEAD + len);
        path = input_file("checkpoint", bytes, HEAD + len + DPOT_HASH_LEN);
    } else {
        path = input_file("checkpoint", data, len);
    }
    const dpot_status status = checkpoint_read(path, training.fingerprint, training.train, &error);
    if (status == DPOT_OK) {
        struct generator_progress progress;
        any_status(generator_train_run(training.train, 1, NULL, &progress, NULL));
    } else {
        require(error.text[0] != '\0');
    }
    training_release(&training);
}

static void read_classifier(const uint8_t *data, size_t len)
{
    struct classifier_file file;
    struct dpot_error error = {""};
    const struct classifier_setup setup = {.batch = 1};
    const dpot_status status =
        classifier_file_load(input_file("classifier", data, len), &setup, &file, &error);
    require(status == DPOT_OK || (error.text[0] != '\0' && !file.classifier));
    classifier_file_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 1 || len > INPUT_MAX) {
        return 0;
    }
    if (data[0] == 0) {
        read_classifier(data + 1, len - 1);
    } else {
        read_checkpoint(data + 1, len - 1, data[0] == 2);
    }
    return 0;
}
