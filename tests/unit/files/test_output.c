#define _GNU_SOURCE /* unshare */

#include "folder.h"

#include "files/output.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
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
    cr_assert_neq(access(output.temporary.path, F_OK), -1);
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
    (void)snprintf(temporary, sizeof temporary, "%s", output.temporary.path);
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

Test(output, a_link_to_a_file_that_does_not_exist_creates_it)
{
    struct dpot_error error;
    struct stat info;
    char text[16] = {0};
    cr_assert_eq(symlink("second", folder_path("first")), 0);
    cr_assert_eq(symlink("target", folder_path("second")), 0);
    cr_assert_eq(output_write(folder_path("first"), "new", 3, &error), DPOT_OK);
    cr_assert_eq(folder_read("target", text, sizeof text - 1), 3);
    cr_assert(lstat(folder_path("first"), &info) == 0 && S_ISLNK(info.st_mode));
    cr_assert(lstat(folder_path("second"), &info) == 0 && S_ISLNK(info.st_mode));
}

Test(output, a_link_that_leads_to_no_file_is_refused_and_kept)
{
    static const struct {
        const char *name, *target, *reason;
    } links[] = {{"circle", "circle", "leads to no file"}, {"away", "none/x", "none/x"}};
    struct dpot_error error;
    struct stat info;
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(symlink(links[i].target, folder_path(links[i].name)), 0);
        cr_assert_eq(output_write(folder_path(links[i].name), "x", 1, &error), DPOT_ERR_IO);
        cr_assert_not_null(strstr(error.text, links[i].reason), "%s", error.text);
        cr_assert(lstat(folder_path(links[i].name), &info) == 0 && S_ISLNK(info.st_mode));
    }
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

/* ---- names ---- */

static size_t count_files(void)
{
    DIR *dir = opendir(folder_path("."));
    size_t n = 0;
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    (void)closedir(dir);
    return n;
}

/* As two containers would, whose process ids are equal. */
Test(output, two_writers_with_one_process_id_never_share_a_file)
{
    struct output first, second;
    struct dpot_error error;
    char text[16] = {0};
    const char *path = folder_path("a");
    cr_assert_eq(output_open(path, &first, &error), DPOT_OK);
    (void)fputs("fir", first.stream);
    (void)fflush(first.stream);
    cr_assert_eq(output_open(path, &second, &error), DPOT_OK);
    cr_assert_str_neq(first.temporary.path, second.temporary.path);
    (void)fputs("second", second.stream);
    cr_assert_eq(output_commit(&second, &error), DPOT_OK);
    cr_assert_eq(folder_read("a", text, sizeof text - 1), 6);
    (void)fputs("st", first.stream);
    cr_assert_eq(output_commit(&first, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(folder_read("a", text, sizeof text - 1), 5);
    cr_assert_eq(memcmp(text, "first", 5), 0);
    cr_assert_eq(count_files(), 1);
}

Test(output, a_name_of_255_bytes_is_written)
{
    struct dpot_error error;
    char name[256], text[8];
    memset(name, 'n', sizeof name - 1);
    name[255] = '\0';
    cr_assert_eq(output_write(folder_path(name), "x", 1, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(output_write(folder_path(name), "yz", 2, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(folder_read(name, text, sizeof text), 2);
}

Test(output, only_what_a_dead_writer_left_is_swept)
{
    struct output output;
    struct dpot_error error;
    static const char left[] = ".dpot-0123456789abcdef.tmp",
                      others[] = ".dpot-0123456789abcdeg.tmp";
    (void)folder_write(left, "half", 4);
    (void)folder_write(others, "mine", 4);
    (void)folder_write(".dpot-0123456789abcdef.tmp-wal", "half", 4);
    cr_assert_eq(output_open(folder_path("a"), &output, &error), DPOT_OK);
    cr_assert(temporary_is_left(folder_path(left)));
    cr_assert_not(temporary_is_left(output.temporary.path));
    cr_assert(temporary_is_name(strrchr(output.temporary.path, '/') + 1));
    temporary_sweep(folder_path("."));
    cr_assert_eq(access(folder_path(left), F_OK), -1);
    cr_assert_eq(access(folder_path(others), F_OK), 0);
    cr_assert_eq(access(output.temporary.path, F_OK), 0);
    cr_assert_eq(output_commit(&output, &error), DPOT_OK);
    cr_assert_eq(count_files(), 2);
}

/* ---- modes ---- */

static mode_t mode_of(const char *path)
{
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    return info.st_mode & 0777;
}

Test(output, the_mode_of_a_replaced_file_is_kept_at_every_moment)
{
    static const mode_t modes[] = {0600, 0640, 0644, 0660, 0666, 0200, 0755};
    struct dpot_error error;
    const char *path = folder_write("a", "old", 3);
    (void)umask(022);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct output output;
        cr_assert_eq(chmod(path, modes[i]), 0);
        cr_assert_eq(output_open(path, &output, &error), DPOT_OK, "%s", error.text);
        cr_assert_eq(mode_of(output.temporary.path), modes[i]);
        (void)fputs("new", output.stream);
        cr_assert_eq(output_commit(&output, &error), DPOT_OK);
        cr_assert_eq(mode_of(path), modes[i]);
    }
    cr_assert_eq(output_write(folder_path("b"), "x", 1, &error), DPOT_OK);
    cr_assert_eq(mode_of(folder_path("b")), 0644, "a new file has what the umask allows");
}

Test(output, owner_and_group_of_a_replaced_file_are_kept)
{
    struct dpot_error error;
    struct stat info;
    const char *path = folder_write("a", "old", 3);
    if (chown(path, 1234, 2345) != 0) {
        cr_skip_test("only root can give files away");
    }
    cr_assert_eq(chmod(path, 0640), 0);
    cr_assert_eq(output_write(path, "new", 3, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_uid, 1234);
    cr_assert_eq(info.st_gid, 2345);
    cr_assert_eq(info.st_mode & 0777, 0640);
}

Test(output, a_read_only_file_is_refused_also_to_root)
{
    struct dpot_error error = {{0}};
    char text[8] = {0};
    const char *path = folder_write("a", "old", 3);
    cr_assert_eq(chmod(path, 0444), 0);
    cr_assert_eq(output_check(path, &error), DPOT_ERR_IO);
    cr_assert_eq(output_write(path, "new", 3, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "read-only"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "444"), "%s", error.text);
    cr_assert_eq(folder_read("a", text, sizeof text), 3);
    cr_assert_eq(memcmp(text, "old", 3), 0);
    cr_assert_eq(count_files(), 1);
}

Test(output, a_writable_file_in_a_read_only_folder_is_overwritten_in_place)
{
    struct dpot_error error;
    char text[16] = {0};
    const char *path = folder_write("a", "a longer old", 12);
    cr_assert_eq(setenv("TMPDIR", "/tmp", 1), 0);
    if (geteuid() == 0) {
        cr_assert_eq(chmod(folder_path("."), 0777), 0);
        cr_assert_eq(chown(path, 1234, 1234), 0);
        cr_assert_eq(chmod(folder_path("."), 0555), 0);
        cr_assert_eq(seteuid(1234), 0);
    } else {
        cr_assert_eq(chmod(folder_path("."), 0555), 0);
    }
    cr_assert_eq(output_write(path, "new", 3, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(output_write(folder_path("b"), "new", 3, &error), DPOT_ERR_IO);
    cr_assert_eq(seteuid(getuid()), 0);
    cr_assert_eq(chmod(folder_path("."), 0777), 0);
    cr_assert_eq(folder_read("a", text, sizeof text), 3);
    cr_assert_eq(count_files(), 1);
}

/* As a container gets one file of its host. Root only: elsewhere there are no mounts. */
Test(output, a_file_that_is_mounted_alone_is_overwritten_in_place)
{
    struct dpot_error error;
    char text[32] = {0};
    (void)folder_write("host", "what the host had", 17);
    (void)folder_write("a", "", 0);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(folder_path("host"), folder_path("a"), NULL, MS_BIND, NULL) != 0) {
        cr_skip_test("this user may not mount");
    }
    cr_assert_eq(output_write(folder_path("a"), "new", 3, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(umount(folder_path("a")), 0);
    cr_assert_eq(folder_read("host", text, sizeof text), 3);
    cr_assert_eq(memcmp(text, "new", 3), 0);
    cr_assert_eq(folder_read("a", text, sizeof text), 0);
    cr_assert_eq(count_files(), 2);
}

/* The mode then shows the mask of the list: taken for the group's, it would open the file. */
Test(output, an_access_list_of_a_replaced_file_is_kept)
{
    static const char name[] = "system.posix_acl_access";
    static const unsigned char list[] = {2,   0,   0,   0, /* version; then tag, bits, id of each */
                                         1,   0,   6,   0,   255, 255, 255, 255, 2,   0,
                                         4,   0,   210, 4,   0,   0,   4,   0,   0,   0,
                                         255, 255, 255, 255, 16,  0,   4,   0,   255, 255,
                                         255, 255, 32,  0,   0,   0,   255, 255, 255, 255};
    struct dpot_error error;
    unsigned char found[64];
    const char *path = folder_write("a", "old", 3);
    if (setxattr(path, name, list, sizeof list, 0) != 0) {
        cr_skip_test("this file system has no access lists");
    }
    cr_assert_eq(mode_of(path), 0640);
    cr_assert_eq(output_write(path, "new", 3, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(getxattr(path, name, found, sizeof found), (ssize_t)sizeof list);
    cr_assert_arr_eq(found, list, sizeof list);
    cr_assert_eq(mode_of(path), 0640);
}
