#include "campaign_case.h"
#include "plan_case.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(plan_refusals, .init = plan_write_case, .fini = folder_remove);

Test(plan_refusals, pools_below_the_minimum_and_crowds_of_the_reference_get_a_warning)
{
    struct process p;
    write_text("ring.json", CAMPAIGN_SPEC("false")); /* min_pool 20 */
    process_run(&p, "plan --campaign ring.json --n 19 --draws 39");
    cr_assert_eq(p.exit_code, 0);
    cr_assert_not_null(strstr(p.err, "19 reports are below the campaign's min_pool of 20"));
    process_run(&p, "plan --campaign kpm.json --n 3 --reference devices.csv");
    cr_assert_eq(p.exit_code, 0);
    cr_assert_not_null(strstr(p.err, "add --crowd fixed"));
    process_run(&p, "plan --campaign kpm.json --n 4 --reference devices.csv");
    cr_assert_eq(p.err[0], '\0', "%s", p.err);
}

Test(plan_refusals, wrong_options_are_refused)
{
    expect_exit("plan --n 5", 2, "--campaign is missing");
    expect_exit("plan --campaign kpm.json", 2, "--n is missing");
    expect_exit("plan --campaign kpm.json --n 0", 2, "--n is 0");
    expect_exit("plan --campaign kpm.json --n 5 --target-error 1", 2, "add --vary epsilon");
    expect_exit("plan --campaign kpm.json --target-error 1 --vary epsilon", 2, "--n is missing");
    expect_exit("plan --campaign kpm.json --target-error 1 --vary lambda", 2, "--vary is lambda");
    expect_exit("plan --campaign kpm.json --target-error 0", 2, "--target-error is 0");
    expect_exit("plan --campaign kpm.json --n 5 --error w1", 2, "go with --target-error");
    expect_exit("plan --campaign kpm.json --target-error 1 --error mean", 2,
                "a campaign of kpm has histogram, w1 and w2");
    expect_exit("plan --campaign laplace.json --target-error 1 --error w1", 2,
                "a campaign of laplace has mean");
    expect_exit("plan --campaign kpm.json --n 5 --crowd loose", 2, "--crowd is loose");
    expect_exit("plan --campaign kpm.json --n 5 --crowd fixed", 2, "needs --reference");
    expect_exit("plan --campaign kpm.json --n 5 --spread 1", 2, "--spread is for laplace");
    expect_exit("plan --campaign laplace.json --n 5 --out o.csv", 2, "--out is for wpm");
    expect_exit("plan --campaign laplace.json --n 5 --spread 1 --reference devices.csv", 2,
                "--reference does not go with --spread");
    expect_exit("plan --campaign kpm.json --n 5 --draws 38", 2, "--draws is 38");
}

Test(plan_refusals, wrong_references_are_refused)
{
    write_text("short.csv", "1\n0\n");
    expect_exit("plan --campaign kpm.json --n 5 --reference short.csv", 3, "has 2 weights");
    write_text("two.csv", "1\n1\n0\n0\n0\n0\n0\n0\n0\n0\n");
    expect_exit("plan --campaign kpm.json --n 5 --reference two.csv", 3, "--normalize");
    write_text("negative.csv", "2\n-1\n0\n0\n0\n0\n0\n0\n0\n0\n");
    expect_exit("plan --campaign kpm.json --n 5 --reference negative.csv", 3, "-1");
    write_text("wide.csv", "1,2,3,4,5\n");
    expect_exit("plan --campaign kpm.json --n 5 --reference wide.csv", 3, "5 columns");
    expect_exit("plan --campaign gaussian.json --n 5 --reference wide.csv", 3, "5 columns");
    write_text("half.csv", "1.5,2\n");
    expect_exit("plan --campaign kpm.json --n 5 --reference half.csv", 3, "row 1: device 1.5");
    write_text("counts.csv", "1,2,1\n1,2,-1\n");
    expect_exit("plan --campaign kpm.json --n 5 --reference counts.csv", 3, "row 2: count -1");
    write_text("nan.csv", "1,nan\n");
    expect_exit("plan --campaign kpm.json --n 5 --reference nan.csv", 3, "finite");
    expect_exit("plan --campaign kpm.json --n 4 --crowd fixed --reference devices.csv", 3,
                "3 devices and 4 are asked for");
    expect_exit("plan --campaign kpm.json --crowd fixed --reference dirac.csv", 3, "no devices");
    expect_exit("plan --campaign kpm.json --n 5 --reference absent.csv", 6, "absent.csv");
    expect_exit("plan --campaign absent.json --n 5", 6, "absent.json");
}
