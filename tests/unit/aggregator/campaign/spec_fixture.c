#include "spec_fixture.h"

#include "campaign/spec.h"

#include <criterion/criterion.h>
#include <string.h>

static const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {1, 2, 3};

struct dpot_campaign compile(json_t *spec)
{
    struct dpot_campaign campaign;
    struct dpot_error error = {{0}};
    cr_assert_eq(spec_compile(spec, id, 1, &campaign, &error), DPOT_OK, "%s", error.text);
    json_decref(spec);
    return campaign;
}

void refuse(json_t *spec, dpot_status expected, const char *word)
{
    struct dpot_campaign campaign;
    struct dpot_error error = {{0}};
    const dpot_status status = spec_compile(spec, id, 1, &campaign, &error);
    cr_assert_eq(status, expected, "%s: %s", dpot_status_name(status), error.text);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
    cr_assert_null(campaign.base_measure.mass_code);
    json_decref(spec);
}
