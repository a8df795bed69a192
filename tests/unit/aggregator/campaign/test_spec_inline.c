#include "campaign/spec.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <string.h>

static char folder[FIXTURE_PATH_SIZE];

static void set_up(void)
{
    fixture_folder(folder);
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(spec_inline, .init = set_up, .fini = tear_down);

static void write_file(const char *name, const char *text)
{
    char path[FIXTURE_PATH_SIZE];
    fixture_path(path, folder, name);
    fixture_write(path, text);
}

static json_t *points_spec(void)
{
    json_t *spec = fixture_spec();
    (void)json_object_set_new(spec, "metric", json_string("euclidean"));
    (void)json_object_set_new(spec, "domain",
                              json_pack("{s:s,s:s}", "type", "points", "file", "places.csv"));
    return spec;
}

Test(spec_inline, files_are_sent_inside_the_json)
{
    struct dpot_error error = {{0}};
    const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {0};
    struct dpot_campaign campaign;
    json_t *spec = points_spec();
    write_file("places.csv", "lat,lon\n1,2\n3,4.5\n5,6\n");
    write_file("masses.csv", "0.25\n0.5\n0.25\n");
    (void)json_object_set_new(json_object_get(spec, "mechanism"), "base_measure",
                              json_string("masses.csv"));
    cr_assert_eq(spec_inline(spec, folder, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(spec_compile(spec, id, 1, &campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(campaign.domain.size, 3);
    cr_assert_eq(campaign.domain.points[3], 4.5);
    cr_assert_float_eq((double)campaign.base_measure.mass_code[1] /
                           (double)campaign.base_measure.mass_code[0],
                       2, 1e-8);
    dpot_campaign_release(&campaign);
    json_decref(spec);
}

Test(spec_inline, a_spec_without_files_is_unchanged)
{
    json_t *spec = fixture_spec(), *copy = json_deep_copy(spec);
    cr_assert_eq(spec_inline(spec, folder, NULL), DPOT_OK);
    cr_assert(json_equal(spec, copy));
    json_decref(copy);
    json_decref(spec);
}

Test(spec_inline, a_missing_file_is_named_with_its_key)
{
    struct dpot_error error = {{0}};
    json_t *spec = points_spec();
    cr_assert_eq(spec_inline(spec, folder, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "domain.file"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "places.csv"));
    json_decref(spec);
}

Test(spec_inline, numbers_that_are_not_finite_are_refused)
{
    struct dpot_error error = {{0}};
    json_t *spec = points_spec();
    write_file("places.csv", "1,2\nnan,4\n");
    cr_assert_eq(spec_inline(spec, folder, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "domain.file"));
    json_decref(spec);
}

Test(spec_inline, a_base_measure_of_two_columns_is_refused)
{
    struct dpot_error error = {{0}};
    json_t *spec = fixture_spec();
    write_file("masses.csv", "1,2\n3,4\n");
    (void)json_object_set_new(json_object_get(spec, "mechanism"), "base_measure",
                              json_string("masses.csv"));
    cr_assert_eq(spec_inline(spec, folder, &error), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(error.text, "mechanism.base_measure"));
    json_decref(spec);
}

Test(spec_inline, a_file_and_points_together_are_refused)
{
    struct dpot_error error = {{0}};
    json_t *spec = points_spec();
    (void)json_object_set_new(json_object_get(spec, "domain"), "points", json_array());
    cr_assert_eq(spec_inline(spec, folder, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, "domain.points"));
    json_decref(spec);
}

Test(spec_inline, masses_of_zero_in_a_file_are_raised_to_the_least_and_the_total_is_kept)
{
    struct dpot_error error = {{0}};
    const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {0};
    struct dpot_campaign campaign;
    json_t *spec = points_spec();
    write_file("places.csv", "lat,lon\n1,2\n3,4.5\n5,6\n");
    write_file("masses.csv", "0\n0.75\n0.25\n");
    (void)json_object_set_new(json_object_get(spec, "mechanism"), "base_measure",
                              json_string("masses.csv"));
    cr_assert_eq(spec_inline(spec, folder, &error), DPOT_OK, "%s", error.text);
    const json_t *masses = json_object_get(json_object_get(spec, "mechanism"), "base_measure");
    double total = 0;
    for (size_t j = 0; j < 3; j++) {
        total += json_real_value(json_array_get(masses, j));
    }
    cr_assert_float_eq(total, 1, 1e-15);
    cr_assert_eq(spec_compile(spec, id, 1, &campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(campaign.base_measure.mass_code[0], 1);
    dpot_campaign_release(&campaign);
    json_decref(spec);
    double negative[] = {0, -1, 2}, fine[] = {1, 2, 3};
    cr_assert_eq(spec_raise_masses(negative, 3), 0);
    cr_assert(negative[0] == 0 && negative[1] == -1, "wrong masses stay, to be refused");
    cr_assert_eq(spec_raise_masses(fine, 3), 0);
    cr_assert(fine[0] == 1 && fine[1] == 2 && fine[2] == 3);
}
