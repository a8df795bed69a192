#include "folder.h"

#include "files/output.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(output, .init = folder_make, .fini = folder_remove);

Test(output, abandoned_file_leaves_the_old_one)
{
    struct output output;
    struct dpot_error error;
    char text[16] = {0};
    const char *path = folder_write("a", "old", 3);
    cr_assert_eq(output_open(path, &output, &error), DPOT_OK);
    (void)fputs("new", output.stream);
    cr_assert_neq(access(output.temporary, F_OK), -1);
    output_abandon(&output);
    cr_assert_eq(folder_read("a", text, sizeof text - 1), 3);
    cr_assert_str_eq(text, "old");
}

Test(output, committed_file_replaces_the_old_one_and_leaves_nothing_else)
{
    struct output output;
    struct dpot_error error;
    char text[16] = {0}, temporary[FOLDER_PATH_MAX];
    cr_assert_eq(output_open(folder_write("a", "old", 3), &output, &error), DPOT_OK);
    (void)snprintf(temporary, sizeof temporary, "%s", output.temporary);
    (void)fputs("newer", output.stream);
    cr_assert_eq(output_commit(&output, &error), DPOT_OK);
    cr_assert_eq(folder_read("a", text, sizeof text - 1), 5);
    cr_assert_eq(access(temporary, F_OK), -1);
}

Test(output, link_is_followed_and_kept)
{
    struct dpot_error error;
    struct stat info;
    char text[16] = {0};
    cr_assert_eq(symlink(folder_write("target", "old", 3), folder_path("link")), 0);
    cr_assert_eq(output_write(folder_path("link"), "new!", 4, &error), DPOT_OK);
    cr_assert_eq(folder_read("target", text, sizeof text - 1), 4);
    cr_assert_eq(lstat(folder_path("link"), &info), 0);
    cr_assert(S_ISLNK(info.st_mode));
}

Test(output, devices_are_written_to_and_never_replaced)
{
    struct dpot_error error;
    struct stat info;
    cr_assert_eq(output_write("/dev/null", "x", 1, &error), DPOT_OK);
    cr_assert_eq(stat("/dev/null", &info), 0);
    cr_assert(S_ISCHR(info.st_mode));
}

Test(output, full_disk_is_an_error)
{
    struct dpot_error error;
    char block[70000];
    if (access("/dev/full", W_OK) != 0) {
        cr_skip_test("this machine has no /dev/full");
    }
    memset(block, 'x', sizeof block);
    cr_assert_eq(output_write("/dev/full", block, sizeof block, &error), DPOT_ERR_IO);
    cr_assert_eq(output_write("/dev/full", "x", 1, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "/dev/full"));
}

Test(output, folders_and_missing_folders_are_refused)
{
    struct dpot_error error;
    cr_assert_eq(output_write(folder_path("."), "x", 1, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "folder"));
    cr_assert_eq(output_write(folder_path("no/such/a"), "x", 1, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "no/such/a"));
}
