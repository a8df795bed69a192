#include "generator/provenance.h"

#include "files/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT_SIZE 24

static void write_count(uint64_t value, char out[COUNT_SIZE])
{
    (void)snprintf(out, COUNT_SIZE, "%" PRIu64, value);
}

/* An unknown number becomes an empty text, which is left out. */
static void write_number(double value, char out[NUMBER_SIZE])
{
    out[0] = '\0';
    if (isfinite(value)) {
        number_format(value, out);
    }
}

static dpot_status note_all(const struct provenance *p, const char *settings,
                            struct generator_model *model, struct dpot_error *error)
{
    const struct training_input *input = p->input;
    char checksum[2 * DPOT_HASH_LEN + 1], count[COUNT_SIZE], revision[COUNT_SIZE] = "";
    char steps[COUNT_SIZE], scale[NUMBER_SIZE], epsilon[NUMBER_SIZE], delta[NUMBER_SIZE];
    dpot_hex_encode(checksum, p->training->pool_checksum, DPOT_HASH_LEN);
    write_count(input->n, count);
    write_count(p->steps_done, steps);
    if (p->revision > 0) {
        write_count(p->revision, revision);
    }
    write_number(input->scale, scale);
    write_number(p->epsilon, epsilon);
    write_number(p->delta, delta);
    const char *const notes[][2] = {
        {"program", input->program},
        {"mechanism", input->noise == DPOT_NOISE_LAPLACE ? "laplace" : "gaussian"},
        {"scale", scale},
        {"epsilon", epsilon},
        {"delta", delta},
        {"campaign_hash", p->campaign_hash ? p->campaign_hash : ""},
        {"revision", revision},
        {"pool_count", count},
        {"pool_checksum", checksum},
        {"transform", p->transform == DPOT_TRANSFORM_DCT ? "dct" : "none"},
        {"settings", settings},
        {"steps_done", steps},
    };
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof notes / sizeof notes[0]; i++) {
        if (notes[i][1][0] != '\0') {
            status = generator_model_note(model, notes[i][0], notes[i][1], error);
        }
    }
    return status;
}

dpot_status provenance_note(const struct provenance *p, struct generator_model *model,
                            struct dpot_error *error)
{
    json_t *settings = settings_json(&p->input->settings);
    char *text = settings ? json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    const dpot_status status = text ? note_all(p, text, model, error)
                                    : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
    free(text);
    json_decref(settings);
    return status;
}
