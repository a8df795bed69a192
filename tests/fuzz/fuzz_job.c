/* Parameters of jobs, from an admin and from the store. The first byte selects the kind and which
 * of the two. */
#include "campaign/spec.h"
#include "fuzz.h"
#include "jobs/job.h"
#include "jobs/job_request.h"
#include "json/json.h"

#include <string.h>

static const char index_spec[] =
    "{\"name\":\"a\",\"domain\":{\"type\":\"ring\",\"size\":6},\"metric\":\"ring\","
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5},\"groups\":[\"x\",\"y\"],"
    "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2027-01-01T00:00:00Z\"}";
static const char vector_spec[] =
    "{\"name\":\"b\",\"domain\":{\"type\":\"box\",\"lo\":[0,0],\"hi\":[1,1]},"
    "\"mechanism\":{\"type\":\"laplace\",\"epsilon\":1},\"groups\":[\"x\",\"y\"],"
    "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2027-01-01T00:00:00Z\"}";
static const struct job_kind *const kinds[] = {&job_base_measure, &job_estimate, &job_generator,
                                               &job_barycenter};

static struct dpot_campaign *campaign_of(bool is_vector)
{
    static struct dpot_campaign campaigns[2];
    static bool are_there;
    const char *const specs[2] = {index_spec, vector_spec};
    for (size_t i = 0; i < 2 && !are_there; i++) {
        const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {1};
        json_t *spec = NULL;
        struct dpot_error error = {""};
        require(json_parse(specs[i], strlen(specs[i]), &spec, &error) == DPOT_OK);
        require(spec_compile(spec, id, 1, &campaigns[i], &error) == DPOT_OK);
        json_decref(spec);
    }
    are_there = true;
    return &campaigns[is_vector];
}

static void complete_twice(const struct job_kind *kind, const struct dpot_campaign *campaign,
                           const uint8_t *data, size_t len)
{
    struct dpot_error error = {""};
    json_t *given = NULL, *complete = NULL, *again = NULL;
    if (json_parse(data, len, &given, &error) != DPOT_OK) {
        return;
    }
    const dpot_status status = kind->complete(campaign, given, &complete, &error);
    require((status == DPOT_OK) == (complete != NULL));
    if (status == DPOT_OK) { /* complete parameters stay as they are */
        require(kind->complete(campaign, complete, &again, &error) == DPOT_OK);
        require(json_equal(complete, again));
    } else {
        require(error.text[0] != '\0');
    }
    json_decref(again);
    json_decref(complete);
    json_decref(given);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static char text[JOB_PARAMETERS_SIZE];
    json_t *parameters = NULL;
    if (len == 0 || len > sizeof text) {
        return 0;
    }
    const struct job_kind *kind = kinds[data[0] % 4];
    const struct dpot_campaign *campaign = campaign_of(data[0] & 4);
    if (data[0] & 8) {
        memcpy(text, data + 1, len - 1);
        text[len - 1] = '\0';
        any_status(job_request_read_parameters(kind, campaign, text, &parameters, NULL));
        json_decref(parameters);
    } else {
        complete_twice(kind, campaign, data + 1, len - 1);
    }
    return 0;
}
