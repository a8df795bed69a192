/* Tables as users have them: columns by name, headers, text columns, packed files. */
#include "process.h"

#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HOMES "name,lat,lon,people\nAnn,1,2,3\nBo,4,5,-nan\n"

static void write_case(void)
{
    folder_make();
    write_text("homes.csv", HOMES);
    write_text("years.csv", "2019,2020\n1,2\n3,4\n");
}

TestSuite(columns, .init = write_case, .fini = folder_remove);

static void expect_text(const char *name, const char *text)
{
    char found[4096] = "";
    found[folder_read(name, found, sizeof found - 1)] = '\0';
    cr_assert_str_eq(found, text, "%s: %s", name, found);
}

Test(columns, convert_keeps_names_and_writes_nan_without_a_sign)
{
    expect_exit("convert --in homes.csv --columns people,lat --out o.csv", 0, "");
    expect_text("o.csv", "people,lat\n3,1\nnan,4\n");
    expect_exit("convert --in homes.csv --columns 1:3 --number --out o.csv", 0, "");
    expect_text("o.csv", "row,lat,lon\n0,1,2\n1,4,5\n");
    expect_exit("convert --in homes.csv --columns lat --rows 1: --out o.csv", 0, "");
    expect_text("o.csv", "lat\n4\n");
}

Test(columns, a_header_of_numbers_is_declared)
{
    expect_exit("convert --in years.csv --header --columns 2020 --out o.csv", 0, "");
    expect_text("o.csv", "2020\n2\n4\n");
    expect_exit("convert --in years.csv --out o.csv", 0, "");
    expect_text("o.csv", "2019,2020\n1,2\n3,4\n");
}

Test(columns, every_array_takes_columns_after_the_name_of_its_file)
{
    write_text("two.csv", "id;x;y\na;0;0\nb;3;4\n");
    json_t *r = expect_json("ot --x two.csv:x,y --y two.csv:1:3 --metric euclidean --exact", 0);
    cr_assert_eq(number_of(r, "value"), 0);
    json_decref(r);
    expect_exit("ot --x two.csv:x,z --y two.csv:x,y --metric euclidean --exact", 2,
                "there is no column \"z\"");
    expect_exit("convert --in homes.csv:lat --out homes.csv", 2, "which is --in");
    expect_text("homes.csv", HOMES);
}

Test(columns, a_warning_says_which_line_is_taken_for_names_also_with_quiet)
{
    static struct process p;
    process_run(&p, "convert --in homes.csv --columns 1,2 --out o.csv --quiet");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert(strstr(p.err, "warning: homes.csv: line 1 has no number"), "%s", p.err);
    process_run(&p, "convert --in homes.csv --columns 1,2 --header --out o.csv");
    cr_assert_str_empty(p.err);
}

Test(columns, a_choice_that_is_made_twice_is_refused)
{
    expect_exit("convert --in homes.csv:lat --columns lon --out o.csv", 2, "chosen twice");
}

Test(columns, pictures_choose_columns)
{
    write_text("run.csv", "step,note,cost\n1,a,5\n2,b,4\n");
    expect_exit("plot curves --in run.csv --columns step,cost --out o.svg", 0, "");
    expect_exit("plot points --in homes.csv --columns lat,lon --out o.svg", 0, "");
    expect_exit("plot points --in homes.csv --columns lat --out o.svg", 3, "two coordinates");
}
