#include "pool/decode.h"

#include "mechanism/codebook.h"
#include "mechanism/transform.h"
#include "pool/validate.h"

#include <math.h>

struct decoder {
    const struct dpot_campaign *campaign;
    enum decode_space space;
    struct dpot_transformer *transformer; /* DECODE_DATA only */
    double *coefficients;                 /* (dim) scratch, DECODE_DATA only */
};

const char *decode_space_name(enum decode_space space)
{
    return space == DECODE_DATA ? "data" : "coefficients";
}

double decode_scale(const struct dpot_campaign *campaign)
{
    return ldexp(campaign->vector.grid_step, (int)campaign->noise.scale_log2);
}

bool decode_has_rows(const struct dpot_campaign *campaign)
{
    return dpot_mechanism_is_vector(campaign->mechanism) || dpot_campaign_is_sphere(campaign);
}

static dpot_status make_inverse(struct decoder *decoder)
{
    const struct dpot_vector_domain *vector = &decoder->campaign->vector;
    decoder->coefficients = dpot_alloc_array(NULL, vector->dim, sizeof *decoder->coefficients);
    return decoder->coefficients ? dpot_transformer_new(vector, NULL, &decoder->transformer)
                                 : DPOT_ERR_MEMORY;
}

dpot_status decoder_new(const struct dpot_campaign *campaign, enum decode_space space,
                        struct decoder **decoder, struct dpot_error *error)
{
    const bool is_sphere = dpot_campaign_is_sphere(campaign);
    *decoder = NULL;
    if (is_sphere && space != DECODE_DATA) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the campaign is on a sphere, whose reports name directions and have "
                              "no coefficients: export the directions");
    }
    if (!decode_has_rows(campaign)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the campaign's mechanism is %s, whose reports name points: only "
                              "those of laplace and gaussian are vectors",
                              dpot_mechanism_name(campaign->mechanism));
    }
    struct decoder *made = dpot_alloc_array(NULL, 1, sizeof *made);
    dpot_status status = made ? DPOT_OK : DPOT_ERR_MEMORY;
    if (made) {
        made->campaign = campaign;
        made->space = space;
        status = space == DECODE_DATA && !is_sphere ? make_inverse(made) : DPOT_OK;
    }
    if (status != DPOT_OK) {
        decoder_free(made);
        return dpot_error_set(error, status, "out of memory for a vector of %u numbers",
                              dpot_vector_data_dim(&campaign->vector));
    }
    *decoder = made;
    return DPOT_OK;
}

void decoder_free(struct decoder *decoder)
{
    if (!decoder) {
        return;
    }
    dpot_transformer_free(decoder->transformer);
    dpot_free_array(NULL, decoder->coefficients, decoder->campaign->vector.dim,
                    sizeof *decoder->coefficients);
    dpot_free_array(NULL, decoder, 1, sizeof *decoder);
}

size_t decoder_n_columns(const struct decoder *decoder)
{
    const struct dpot_vector_domain *vector = &decoder->campaign->vector;
    if (dpot_campaign_is_sphere(decoder->campaign)) {
        return decoder->campaign->output.dim;
    }
    return decoder->space == DECODE_DATA ? dpot_vector_data_dim(vector) : vector->dim;
}

static dpot_status decode_direction(const struct dpot_campaign *campaign,
                                    const struct dpot_report *report, double *row,
                                    struct dpot_error *error)
{
    struct dpot_codebook codebook;
    if (!validate_shape(campaign, report) || report->index >= campaign->output.size) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "a stored report names none of the campaign's %u directions: restore "
                              "the store from a backup",
                              campaign->output.size);
    }
    dpot_codebook_init(&codebook, campaign, report->id);
    dpot_codebook_direction(&codebook, report->index, row);
    return DPOT_OK;
}

dpot_status decoder_run(struct decoder *decoder, const struct dpot_report *report, double *row,
                        struct dpot_error *error)
{
    const struct dpot_campaign *campaign = decoder->campaign;
    if (dpot_campaign_is_sphere(campaign)) {
        return decode_direction(campaign, report, row, error);
    }
    if (!validate_shape(campaign, report)) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "a stored report has %u numbers and the campaign's have %u: restore "
                              "the store from a backup",
                              report->n_values, campaign->vector.dim);
    }
    double *coefficients = decoder->space == DECODE_DATA ? decoder->coefficients : row;
    for (uint32_t j = 0; j < report->n_values; j++) {
        coefficients[j] = campaign->vector.grid_step * (double)report->values[j];
    }
    if (decoder->space == DECODE_DATA) {
        dpot_transformer_inverse(decoder->transformer, coefficients, row);
    }
    return DPOT_OK;
}
