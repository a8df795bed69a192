#define _XOPEN_SOURCE 700 /* realpath */

#include "tool/shared/conflict.h"

#include "cli/values.h"
#include "files/input.h"
#include "files/output.h"
#include "tool/shared/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIDE ".json"

/* ---- which file a path names ---- */

enum kind {
    NO_FILE, /* "-", a pipe, a device, a folder: writing replaces nothing */
    OLD_FILE,
    NEW_FILE,
};

struct identity {
    enum kind kind;
    dev_t device; /* of an OLD_FILE */
    ino_t number;
    char *name; /* of a NEW_FILE, with its folder resolved; NULL: out of memory. Owned */
};

static char *join(const char *a, const char *between, const char *b)
{
    const size_t cap = strlen(a) + strlen(between) + strlen(b) + 1;
    char *text = malloc(cap);
    if (text) {
        (void)snprintf(text, cap, "%s%s%s", a, between, b);
    }
    return text;
}

/* The path with its folder resolved; unchanged if the folder does not exist. A link to a file that
 * does not exist yet is followed. */
static char *resolve_new(const char *link)
{
    char *path = output_resolve(link);
    const char *slash = path ? strrchr(path, '/') : NULL;
    const size_t folder_len = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *folder = !path ? NULL : slash ? strndup(path, folder_len) : strdup(".");
    char *resolved = folder ? realpath(folder, NULL) : NULL;
    char *name = resolved ? join(resolved, "/", slash ? slash + 1 : path) : NULL;
    if (resolved) {
        free(path);
        path = name;
    }
    free(folder);
    free(resolved);
    return path;
}

/* As stat; of the file in "FILE:CHOICE", which array_read takes. */
static int find_file(const char *path, struct stat *info)
{
    char *file = strndup(path, input_file_len(path));
    const int result = file ? stat(file, info) : -1;
    free(file);
    return result;
}

static struct identity identify(const char *path)
{
    struct stat info;
    if (strcmp(path, "-") == 0) {
        return (struct identity){.kind = NO_FILE};
    }
    if (find_file(path, &info) != 0) {
        return (struct identity){.kind = NEW_FILE, .name = resolve_new(path)};
    }
    return S_ISREG(info.st_mode)
               ? (struct identity){.kind = OLD_FILE, .device = info.st_dev, .number = info.st_ino}
               : (struct identity){.kind = NO_FILE};
}

/* DPOT_ERR_MEMORY: not known. */
static dpot_status compare_files(const char *a, const char *b, bool *is_one)
{
    struct identity x = identify(a), y = identify(b);
    dpot_status status = DPOT_OK;
    *is_one = x.kind == y.kind && x.kind != NO_FILE;
    if (*is_one && x.kind == OLD_FILE) {
        *is_one = x.device == y.device && x.number == y.number;
    } else if (*is_one) {
        status = x.name && y.name ? DPOT_OK : DPOT_ERR_MEMORY;
        *is_one = status != DPOT_OK || strcmp(x.name, y.name) == 0;
    }
    free(x.name);
    free(y.name);
    return status;
}

bool conflict_is_one_file(const char *a, const char *b)
{
    bool is_one = true;
    return compare_files(a, b, &is_one) != DPOT_OK || is_one;
}

/* ---- the files of a run ---- */

/* One output of a run. */
struct output_name {
    struct run *run;
    const char *option, *path;
};

/* `what` names the other file, "--pool" or "argument 1"; `side` is "" or ".json". */
static dpot_status compare(const struct output_name *o, const char *what, const char *other,
                           const char *side, const char *other_side)
{
    char *a = join(o->path, "", side), *b = join(other, "", other_side);
    bool is_one = false;
    dpot_status status = a && b ? compare_files(a, b, &is_one) : DPOT_ERR_MEMORY;
    if (status == DPOT_OK && is_one) {
        status = RUN_USAGE(o->run,
                           "--%s would write %.200s%s, which is %s%s: one would destroy the "
                           "other: give it another name",
                           o->option, o->path, side, *other_side ? "the side file of " : "", what);
    }
    free(a);
    free(b);
    return status;
}

static dpot_status compare_both(const struct output_name *o, const char *what, const char *other)
{
    static const char *const sides[4][2] = {{"", ""}, {"", SIDE}, {SIDE, ""}, {SIDE, SIDE}};
    dpot_status status = DPOT_OK;
    if (strcmp(o->path, "-") == 0 || strcmp(other, "-") == 0) {
        return DPOT_OK; /* no file, and no side file */
    }
    for (size_t i = 0; status == DPOT_OK && i < 4; i++) {
        status = compare(o, what, other, sides[i][0], sides[i][1]);
    }
    return status;
}

static bool names_a_file(const struct option *option)
{
    return option->value && values_are_files(option->value);
}

/* How an error calls operand `i`: the option whose further file it is, or "argument 1". */
static void name_operand(const struct run *run, size_t i, char *what, size_t cap)
{
    for (const struct option *o = run->command->options; o && o->name; o++) {
        if (option_is_given(run, o->name) && o->value && strcmp(o->value, "F...") == 0) {
            (void)snprintf(what, cap, "--%s", o->name);
            return;
        }
    }
    (void)snprintf(what, cap, "argument %zu", i + 1);
}

dpot_status conflict_check(struct run *run, const char *name, const char *path)
{
    const struct output_name output = {run, name, path};
    dpot_status status = output_check(path, &run->error);
    char what[64];
    for (const struct option *o = run->command->options; status == DPOT_OK && o && o->name; o++) {
        const char *text = option_text(run, o->name);
        if (text && names_a_file(o) && strcmp(o->name, name) != 0) {
            (void)snprintf(what, sizeof what, "--%s", o->name);
            status = compare_both(&output, what, text);
        }
    }
    for (size_t i = 0; status == DPOT_OK && i < run->n_operands; i++) {
        name_operand(run, i, what, sizeof what);
        status = compare_both(&output, what, run->operands[i]);
    }
    return status;
}

dpot_status conflict_check_folder(struct run *run, const char *name, const char *folder,
                                  const char *const *members, size_t n_members)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < n_members; i++) {
        char *path = join(folder, "/", members[i]);
        status = path ? conflict_check(run, name, path) : DPOT_ERR_MEMORY;
        free(path);
    }
    return status;
}
