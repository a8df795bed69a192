/* Replays a corpus: each argument is a folder, whose files are passed to the target one by one. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>

#define PATH_LEN 1024
#define INPUT_MAX (1u << 20)

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(INPUT_MAX);
    int failed = !file || !data;
    if (!failed) {
        const size_t len = fread(data, 1, INPUT_MAX, file);
        failed = ferror(file);
        if (!failed) {
            (void)LLVMFuzzerTestOneInput(data, len);
        }
    }
    if (failed) {
        fprintf(stderr, "%s: cannot be read\n", path);
    }
    free(data);
    if (file) {
        (void)fclose(file);
    }
    return failed;
}

/* Returns the number of files, or -1. */
static int replay_folder(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    if (!dir) {
        fprintf(stderr, "%s: no such folder\n", folder);
        return -1;
    }
    for (struct dirent *entry = readdir(dir); entry && n >= 0; entry = readdir(dir)) {
        char path[PATH_LEN];
        if (entry->d_name[0] == '.') {
            continue;
        }
        const int len = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        const bool is_bad = len < 0 || (size_t)len >= sizeof path || replay_file(path) != 0;
        n = is_bad ? -1 : n + 1;
    }
    (void)closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const int n = replay_folder(argv[i]);
        if (n <= 0) {
            fprintf(stderr, "%s: nothing was replayed\n", argv[i]);
            return 1;
        }
        printf("%s: %d inputs replayed\n", argv[i], n);
    }
    return argc > 1 ? 0 : 2;
}
