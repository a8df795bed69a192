/* Outputs that are inputs, and outputs that cannot be written in full. */
#include "campaign_case.h"
#include "process.h"
#include "unit/files/folder.h"

#include "tool/shared/conflict.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define POOL "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n0\n1\n2\n3\n4\n5\n6\n7\n"

static void write_case(void)
{
    folder_make();
    write_text("spec.json", CAMPAIGN_SPEC("true"));
    write_text("pool.csv", POOL);
    write_text("a.csv", "0\n3\n");
    write_text("b.csv", "0\n4\n");
    write_text("devices.csv", "device,position\n1,3\n2,4\n");
    write_text("vectors.csv", "0.1,0.2\n0.3,0.4\n");
}

TestSuite(conflict, .init = write_case, .fini = folder_remove);

static void expect_text(const char *name, const char *text)
{
    char found[4096] = "";
    found[folder_read(name, found, sizeof found - 1)] = '\0';
    cr_assert_str_eq(found, text, "%s has changed", name);
}

#define ESTIMATE "estimate --campaign spec.json --bootstrap 0 "
#define OT "ot --x a.csv --y b.csv --metric euclidean --exact "

Test(conflict, an_output_that_is_an_input_is_refused_and_the_input_stays)
{
    expect_exit(ESTIMATE "--pool pool.csv --out pool.csv", 2,
                "--out would write pool.csv, which is --pool: one would destroy the other: give it "
                "another name");
    expect_exit(ESTIMATE "--pool=pool.csv --out=./pool.csv", 2, "which is --pool");
    expect_text("pool.csv", POOL);
    expect_exit(OT "--plan-out a.csv", 2, "--plan-out would write a.csv, which is --x");
    expect_exit(OT "--potentials-out b.csv", 2, "--potentials-out would write b.csv, which is --y");
    expect_exit("convert --in vectors.csv --out vectors.csv", 2, "which is --in");
    expect_exit("barycenter --group-files a.csv b.csv --support 1 --exact --out b.csv", 2,
                "--out would write b.csv, which is --group-files:");
    write_text("m.csv", CAMPAIGN_SPEC("true"));
    expect_exit("base-measure --campaign m.csv --out m.csv", 2, "which is --campaign");
    expect_exit("base-measure --campaign m.csv --out o.csv --trajectory-out m.csv", 2,
                "--trajectory-out would write m.csv, which is --campaign");
    expect_exit("deconvolve --pool vectors.csv --mechanism laplace --scale 1 --support 2 --out "
                "vectors.csv",
                2, "which is --pool");
    expect_text("m.csv", CAMPAIGN_SPEC("true"));
    write_text("p.svg", "0\n1\n");
    expect_exit("plot curves --in p.svg --out p.svg", 2, "which is --in");
}

Test(conflict, links_and_other_spellings_are_resolved)
{
    cr_assert_eq(symlink("pool.csv", folder_path("soft.csv")), 0);
    cr_assert_eq(link(folder_path("pool.csv"), folder_path("hard.csv")), 0);
    cr_assert_eq(mkdir(folder_path("sub"), 0700), 0);
    cr_assert_eq(symlink("sub", folder_path("way")), 0);
    expect_exit(ESTIMATE "--pool pool.csv --out soft.csv", 2, "which is --pool");
    expect_exit(ESTIMATE "--pool soft.csv --out pool.csv", 2, "which is --pool");
    expect_exit(ESTIMATE "--pool pool.csv --out hard.csv", 2, "which is --pool");
    expect_exit(ESTIMATE "--pool pool.csv --out sub/../pool.csv", 2, "which is --pool");
    expect_exit(OT "--plan-out sub/n.csv --potentials-out way/./n.csv", 2,
                "which is --potentials-out");
    cr_assert_eq(symlink("sub/n.csv", folder_path("new.csv")), 0);
    expect_exit(OT "--plan-out sub/n.csv --potentials-out new.csv", 2, "which is --potentials-out");
    expect_text("pool.csv", POOL);
}

Test(conflict, two_outputs_of_one_name_are_refused)
{
    expect_exit(OT "--plan-out n.csv --potentials-out n.csv", 2, "which is --potentials-out");
    expect_exit("base-measure --campaign spec.json --out n.csv --trajectory-out n.csv", 2,
                "which is --trajectory-out");
    expect_exit("deconvolve --pool vectors.csv --mechanism laplace --scale 1 --support 2 --out "
                "n.csv --n-samples 2 --samples-out n.csv",
                2, "which is --samples-out");
    cr_assert_neq(access(folder_path("n.csv"), F_OK), 0);
}

Test(conflict, side_files_count)
{
    write_text("o.csv.json", CAMPAIGN_SPEC("true"));
    expect_exit("estimate --campaign o.csv.json --pool pool.csv --out o.csv", 2,
                "--out would write o.csv.json, which is --campaign");
    expect_text("o.csv.json", CAMPAIGN_SPEC("true"));
    expect_exit("generator classifier --images vectors.csv --labels pool.csv --out "
                "vectors.csv.json",
                2, "which is the side file of --images");
}

Test(conflict, a_folder_of_results_may_not_hold_an_input_under_their_names)
{
    expect_exit("simulate --campaign spec.json --data devices.csv --devices 2 --in-process --out .",
                2, "--out would write ./devices.csv, which is --data");
    expect_text("devices.csv", "device,position\n1,3\n2,4\n");
    write_text("data.csv", "device,position\n1,3\n2,4\n");
    cr_assert_eq(unlink(folder_path("devices.csv")), 0);
    json_decref(expect_json("simulate --campaign spec.json --data data.csv --devices 2 "
                            "--in-process --out .",
                            0));
    write_text("checkpoint", "0\n1\n");
    expect_exit("generator train --pool checkpoint --checkpoint . --out m.onnx", 2,
                "--checkpoint would write ./checkpoint, which is --pool");
}

Test(conflict, streams_and_devices_do_not_conflict)
{
    write_text("stdin", POOL);
    cr_assert_not(conflict_is_one_file("-", "-"));
    cr_assert_not(conflict_is_one_file("/dev/null", "/dev/null"));
    cr_assert(conflict_is_one_file(folder_path("pool.csv"), folder_path("./pool.csv")));
    cr_assert_not(conflict_is_one_file(folder_path("a.csv"), folder_path("b.csv")));
    expect_exit(ESTIMATE "--pool - --out o.csv", 0, "kv");
    expect_exit(OT "--plan-out o1.csv --potentials-out o2.csv", 0, "value");
}

/* ---- files that cannot be written in full ---- */

static void limit_files(rlim_t size)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Rows of zeros, more than the limit below holds. */
static void write_rows(size_t n)
{
    static char text[65536];
    char *end = text;
    for (size_t i = 0; i < n; i++) {
        end += snprintf(end, 16, "%zu,0\n", i);
    }
    write_text("rows.csv", text);
}

Test(conflict, a_file_above_the_limit_is_a_failed_write_without_a_partial_file)
{
    glob_t left;
    struct process p;
    write_rows(4000);
    limit_files(8192);
    process_run(&p, "convert --in rows.csv --out rl.csv --quiet");
    cr_assert_eq(p.exit_code, 6, "%d %s", p.exit_code, p.err);
    cr_assert_not_null(strstr(p.err, "rl.csv failed: File too large"), "%s", p.err);
    cr_assert_neq(access(folder_path("rl.csv"), F_OK), 0);
    cr_assert_eq(glob(folder_path("rl.csv*"), 0, NULL, &left), GLOB_NOMATCH,
                 "a temporary file is left");
}

Test(conflict, an_incomplete_set_of_results_is_marked)
{
    static char text[65536] = "device,position\n";
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(text + strlen(text), 32, "%d,%d\n", i, i % 12);
    }
    write_text("data.csv", text);
    cr_assert_eq(mkdir(folder_path("run"), 0700), 0);
    write_text("run/results.json", "{}");
    limit_files(4096);
    expect_exit("simulate --campaign spec.json --data data.csv --devices 1000 --in-process --out "
                "run --quiet",
                6, "run is incomplete (it has no results.json): writing");
    cr_assert_neq(access(folder_path("run/results.json"), F_OK), 0);
}
