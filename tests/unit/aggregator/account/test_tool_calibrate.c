/* dpot calibrate, as a user runs it. */
#include "../tool/process.h"
#include "golden.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(calibrate_tool, .init = folder_make, .fini = folder_remove);

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    cr_assert_not_null(text, "%s is missing", key);
    return text;
}

/* Runs the command and checks what every result satisfies: the keys, and scale = 2^scale_log2
 * grid_step. */
static json_t *calibrated(const char *arguments)
{
    json_t *r = expect_json(arguments, 0);
    cr_assert_eq(number_of(r, "scale"),
                 ldexp(number_of(r, "grid_step"), (int)number_of(r, "scale_log2")), "%s",
                 arguments);
    cr_assert_gt(number_of(r, "epsilon"), 0);
    cr_assert_geq(number_of(r, "delta"), 0);
    return r;
}

static void expect_scale(const char *arguments, double scale, double tolerance)
{
    json_t *r = calibrated(arguments);
    cr_assert_float_eq(number_of(r, "scale"), scale, tolerance, "%s: %.10g", arguments,
                       number_of(r, "scale"));
    json_decref(r);
}

Test(calibrate_tool, scales_of_the_paper_come_out_at_their_true_diameters)
{
    expect_scale("calibrate laplace --epsilon 5 --l1-diameter 2.414213562373095", 0.4828, 1e-4);
    expect_scale("calibrate laplace --epsilon 196 --l1-diameter 1568", 8, 1e-8);
    expect_scale("calibrate gaussian --epsilon 5 --delta 1e-4 --l2-diameter 2", 1.592, 5e-4);
    expect_scale("calibrate gaussian --epsilon 5 --delta 1e-4 --l2-diameter 2 --formula paper",
                 1.804, 5e-4);
    expect_scale("calibrate gaussian --epsilon 35 --delta 1e-4 --l2-diameter 56", 10.15, 5e-3);
    expect_scale("calibrate gaussian --epsilon 35 --delta 1e-4 --l2-diameter 56 --formula=paper",
                 10.57, 5e-3);
}

Test(calibrate_tool, scale_of_a_diameter_is_the_exact_root)
{
    json_t *root = golden_load("accounting.json");
    const json_t *cases = json_object_get(root, "gdp_mu");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        char arguments[256];
        (void)snprintf(arguments, sizeof arguments,
                       "calibrate gaussian --epsilon %.17g --delta %.17g --l2-diameter 1",
                       golden_number(c, "eps"), golden_number(c, "delta"));
        const double sigma = 1 / golden_number(c, "mu");
        json_t *r = calibrated(arguments);
        cr_assert_float_eq(number_of(r, "scale"), sigma, 1e-6 * sigma);
        cr_assert_leq(number_of(r, "exact_delta"), golden_number(c, "delta") * (1 + 1e-9));
        cr_assert_geq(number_of(r, "paper_scale"), number_of(r, "analytic_scale"));
        json_decref(r);
    }
    json_decref(root);
}

Test(calibrate_tool, domain_gives_the_integers_of_a_campaign)
{
    json_t *r = calibrated("calibrate gaussian --epsilon 1 --delta 9.5367431640625e-7 --domain "
                           "{\"type\":\"l2_ball\",\"radius\":20,\"dim\":784}");
    cr_assert_eq(number_of(r, "scale_log2"), 15);
    cr_assert_eq(number_of(r, "grid_radius"), 3868);
    cr_assert_eq(number_of(r, "effective_epsilon"), 1);
    cr_assert(number_of(r, "loss") > 0 && number_of(r, "loss") < 0.02);
    cr_assert_str_eq(text_of(r, "domain"), "l2_ball");
    json_decref(r);
    r = calibrated("calibrate laplace --epsilon 1 --domain "
                   "{\"type\":\"l1_ball\",\"radius\":20,\"dim\":784}");
    cr_assert_eq(number_of(r, "scale_log2"), 18);
    cr_assert_eq(number_of(r, "grid_radius"), 131071);
    cr_assert_eq(number_of(r, "delta"), 0);
    cr_assert_leq(number_of(r, "effective_epsilon"), 1);
    json_decref(r);
    write_text("box.json", "{\"type\": \"box\", \"lo\": [-1, 0], \"hi\": [1, 2.5]}");
    r = calibrated("calibrate laplace --epsilon 1 --domain box.json");
    cr_assert_eq(json_array_size(json_object_get(r, "grid_lo")), 2);
    cr_assert_float_eq(number_of(r, "scale"), 4.5, 0.09);
    json_decref(r);
    r = calibrated("calibrate laplace --epsilon 196 --domain "
                   "{\"type\":\"box\",\"lo\":-1,\"hi\":1,\"dim\":784}");
    cr_assert_float_eq(number_of(r, "scale"), 8, 0.08);
    cr_assert(json_is_true(json_object_get(r, "is_simulation_only")));
    json_decref(r);
    r = calibrated("calibrate gaussian --epsilon 2 --delta 1e-5 --domain "
                   "{\"type\":\"sphere\",\"dim\":3}");
    cr_assert_geq(number_of(r, "diameter"), 2);
    cr_assert_not(json_is_true(json_object_get(r, "is_simulation_only")));
    json_decref(r);
}

Test(calibrate_tool, paper_formula_with_a_domain_gives_at_least_its_noise)
{
    json_t *r = calibrated("calibrate gaussian --epsilon 5 --delta 1e-6 --formula paper --domain "
                           "{\"type\":\"l2_ball\",\"radius\":1,\"dim\":10}");
    const double paper = number_of(r, "paper_scale");
    cr_assert(number_of(r, "scale") >= paper && number_of(r, "scale") < 1.02 * paper);
    cr_assert_leq(number_of(r, "exact_epsilon"), 5);
    json_decref(r);
}

Test(calibrate_tool, the_table_has_the_same_numbers_as_json)
{
    expect_exit("calibrate gaussian --epsilon 5 --delta 1e-4 --l2-diameter 2", 0,
                "scale                    1.591880579\n");
    expect_exit("calibrate gaussian --help", 0, "Example:\n  dpot calibrate gaussian");
    expect_exit("calibrate laplace --help", 0, "Example:\n  dpot calibrate laplace");
    expect_exit("calibrate --help", 0, "calibrate gaussian");
}

Test(calibrate_tool, a_delta_far_from_the_certificate_gets_a_warning)
{
    struct process p;
    process_run(&p, "calibrate gaussian --epsilon 5 --delta 5e-6 --domain "
                    "{\"type\":\"sphere\",\"dim\":3}");
    cr_assert_eq(p.exit_code, 0);
    cr_assert_not_null(strstr(p.err, "nearest row of the Gaussian certificate"), "%s", p.err);
    json_t *r = calibrated("calibrate gaussian --epsilon 100 --delta 1e-6 --l2-diameter 1");
    cr_assert_not_null(strstr(text_of(r, "device_why_not"), "at most 40"),
                       "no device, but a scale");
    json_decref(r);
}

Test(calibrate_tool, wrong_options_are_refused_with_value_and_remedy)
{
#define GAUSSIAN "calibrate gaussian --epsilon 1 --delta 1e-6 "
    expect_exit("calibrate gaussian --epsilon 1 --delta 1e-6 --l2-diameter 1e-300", 2, "1e-290");
    expect_exit(GAUSSIAN "--l2-diameter 5e-324", 2, "2.2e-308");
    expect_exit("calibrate laplace --epsilon 1 --l1-diameter 9e-291", 2, "1e-290");
    expect_exit("calibrate gaussian --epsilon 1 --delta 1e-6 --l2-diameter 1e-290 --json", 0,
                "\"grid_step\":");
    expect_exit("calibrate laplace --epsilon 20.000000000000004 --domain "
                "{\"type\":\"box\",\"lo\":0,\"hi\":1000000000000001,\"dim\":1}",
                3, "from 0 to 1000000000000001");
    expect_exit("calibrate", 2, "calibrate takes");
    expect_exit("calibrate laplace --l1-diameter 1", 2, "--epsilon is missing");
    expect_exit("calibrate laplace --epsilon 0 --l1-diameter 1", 2, "--epsilon is 0");
    expect_exit("calibrate laplace --epsilon nan --l1-diameter 1", 2, "--epsilon is nan");
    expect_exit("calibrate laplace --epsilon -1 --l1-diameter 1", 2, "--epsilon is -1");
    expect_exit("calibrate laplace --epsilon 513 --l1-diameter 1", 2, "at most 512");
    expect_exit("calibrate laplace --epsilon 1e-10 --l1-diameter 1", 3, "at least 1e-9");
    expect_exit("calibrate laplace --epsilon 1 --l1-diameter 0", 2, "--l1-diameter is 0");
    expect_exit("calibrate laplace --epsilon 1 --l1-diameter inf", 2, "--l1-diameter is inf");
    expect_exit("calibrate laplace --epsilon 1", 2, "neither --l1-diameter nor --domain");
    expect_exit("calibrate laplace --epsilon 1 --l2-diameter 1", 2, "give --l1-diameter");
    expect_exit("calibrate laplace --epsilon 1 --l1-diameter 1 --delta 1e-6", 2, "leave it out");
    expect_exit("calibrate laplace --epsilon 1 --l1-diameter 1 --formula paper", 2, "gaussian");
    expect_exit(GAUSSIAN "--l1-diameter 1", 2, "give --l2-diameter");
    expect_exit(GAUSSIAN "--l2-diameter 1 --domain x", 2, "exclude each other");
    expect_exit(GAUSSIAN "--l2-diameter 1 --formula classic", 2, "choose analytic or paper");
    expect_exit("calibrate gaussian --epsilon 1 --l2-diameter 1", 2, "--delta is missing");
    expect_exit("calibrate gaussian --epsilon 1 --delta 0 --l2-diameter 1", 2, "--delta is 0");
    expect_exit("calibrate gaussian --epsilon 1 --delta 1 --l2-diameter 1", 2, "--delta is 1");
    expect_exit("calibrate gaussian --epsilon 1 --delta 1e-301 --l2-diameter 1", 2, "1e-300");
    expect_exit("calibrate gaussian --epsilon 1 --delta 0.5 --l2-diameter 1 --formula paper", 2,
                "below 0.5");
}

Test(calibrate_tool, wrong_domains_are_refused_with_key_and_remedy)
{
    expect_exit(GAUSSIAN "--domain none.json", 6, "none.json");
    expect_exit(GAUSSIAN "--domain {", 3, "--domain: JSON line 1");
    expect_exit(GAUSSIAN "--domain {}", 3, "domain.type is missing");
    expect_exit(GAUSSIAN "--domain {\"type\":\"ring\"}", 3, "domain.type is \"ring\"");
    expect_exit(GAUSSIAN "--domain {\"type\":7}", 3, "domain.type is 7");
    expect_exit(GAUSSIAN "--domain {\"type\":\"l2_ball\",\"radius\":1}", 3,
                "domain.dim is missing");
    expect_exit(GAUSSIAN "--domain {\"type\":\"l2_ball\",\"dim\":3}", 3,
                "domain.radius is missing");
    expect_exit(GAUSSIAN "--domain {\"type\":\"l2_ball\",\"radius\":0,\"dim\":3}", 3,
                "domain.radius is 0");
    expect_exit(GAUSSIAN "--domain {\"type\":\"l2_ball\",\"radius\":1e999,\"dim\":3}", 3, "JSON");
    expect_exit(GAUSSIAN "--domain {\"type\":\"l2_ball\",\"radius\":1,\"dim\":1048577}", 3,
                "domain.dim is 1048577");
    expect_exit(GAUSSIAN "--domain {\"type\":\"l2_ball\",\"radius\":1,\"dim\":3,\"size\":4}", 3,
                "domain.size goes with ring");
    expect_exit(GAUSSIAN "--domain {\"type\":\"sphere\",\"dim\":3,\"radius\":4}", 3,
                "domain.radius goes with l1_ball and l2_ball");
    expect_exit(GAUSSIAN "--domain {\"type\":\"box\",\"lo\":[0],\"hi\":[1,2]}", 3, "equal length");
    expect_exit(GAUSSIAN "--domain {\"type\":\"box\",\"lo\":[],\"hi\":[]}", 3, "equal length");
    expect_exit(GAUSSIAN "--domain {\"type\":\"box\",\"lo\":[0],\"hi\":[\"1\"]}", 3,
                "entry 0 of domain.hi is \"1\": give a number");
    expect_exit(GAUSSIAN "--domain {\"type\":\"box\",\"lo\":[1],\"hi\":[0]}", 3, "lo <= hi");
    expect_exit(GAUSSIAN "--domain {\"type\":\"box\",\"lo\":[1],\"hi\":[1]}", 3, "single point");
    expect_exit(GAUSSIAN "--domain {\"type\":\"box\",\"lo\":[0],\"hi\":[1],\"dim\":1}", 3,
                "leave it out");
    expect_exit(GAUSSIAN "--domain {\"type\":\"box\",\"lo\":0,\"hi\":1}", 3,
                "domain.dim is missing");
    expect_exit("calibrate laplace --epsilon 100 --domain "
                "{\"type\":\"l1_ball\",\"radius\":350,\"dim\":784}",
                3, "below 31.9");
}

Test(calibrate_tool, a_deeply_nested_domain_is_refused)
{
    char text[8192];
    memset(text, '[', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    write_text("deep.json", text);
    expect_exit(GAUSSIAN "--domain deep.json", 3, "--domain: deep.json");
}

static void expect_same_scale(const char *a, const char *b)
{
    json_t *of_a = calibrated(a), *of_b = calibrated(b);
    cr_assert_eq(number_of(of_a, "scale"), number_of(of_b, "scale"));
    cr_assert_eq(number_of(of_a, "dim"), number_of(of_b, "dim"));
    json_decref(of_a);
    json_decref(of_b);
}

Test(calibrate_tool, a_whole_campaign_spec_is_accepted_as_a_domain)
{
    write_text("domain.json", "{\"type\":\"l2_ball\",\"radius\":3,\"dim\":5}");
    write_text("spec.json", "{\"name\":\"v\",\"domain\":{\"type\":\"l2_ball\",\"radius\":3,"
                            "\"dim\":5},\"mechanism\":{\"type\":\"gaussian\"},\"rounds\":1}");
    write_text("dct.json",
               "{\"domain\":{\"type\":\"l2_ball\",\"radius\":3},\"mechanism\":{\"type\":"
               "\"gaussian\",\"transform\":{\"type\":\"dct\",\"shape\":[4,4],"
               "\"keep\":5}}}");
    write_text("ring.json", "{\"domain\":{\"type\":\"ring\",\"size\":9}}");
#define OF_SET "calibrate gaussian --epsilon 2 --delta 1e-6 --domain "
    expect_same_scale(OF_SET "domain.json", OF_SET "spec.json");
    expect_same_scale(OF_SET "domain.json", OF_SET "dct.json");
    expect_exit(OF_SET "ring.json", 3, "domain.type is \"ring\"");
}
