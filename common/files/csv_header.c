#include "files/csv_header.h"

#include "files/number.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The first line without its end, cut to `cap` bytes. */
static size_t read_first_line(FILE *stream, char *line, size_t cap)
{
    size_t n = 0;
    int c = getc(stream);
    while (c != EOF && c != '\n' && n + 1 < cap) {
        line[n++] = (char)c;
        c = getc(stream);
    }
    line[n] = '\0';
    return n;
}

/* One field without quotes and padding; returns where the next begins, NULL after the last. */
static const char *take_field(const char *rest, char name[CSV_NAME_MAX])
{
    size_t n = 0;
    bool is_quoted = false;
    for (; *rest && (*rest != ',' || is_quoted); rest++) {
        if (*rest == '"') {
            is_quoted = !is_quoted;
        } else if (n + 1 < CSV_NAME_MAX && (n > 0 || !strchr(" \t\r", *rest))) {
            name[n++] = *rest;
        }
    }
    while (n > 0 && strchr(" \t\r", name[n - 1])) {
        n--;
    }
    name[n] = '\0';
    return *rest ? rest + 1 : NULL;
}

dpot_status csv_header_read(const char *path, size_t n_max, char names[][CSV_NAME_MAX], size_t *n,
                            struct dpot_error *error)
{
    struct stat info;
    *n = 0;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return DPOT_OK; /* a pipe gives its content once: opening it again would wait for ever */
    }
    FILE *stream = fopen(path, "rb");
    char *line = malloc(CSV_HEADER_MAX);
    if (!stream || !line) {
        const dpot_status status =
            stream ? dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory")
                   : dpot_error_set(error, DPOT_ERR_IO, "reading %.200s failed: %s", path,
                                    strerror(errno));
        if (stream) {
            (void)fclose(stream);
        }
        free(line);
        return status;
    }
    (void)read_first_line(stream, line, CSV_HEADER_MAX);
    (void)fclose(stream);
    const char *rest = strncmp(line, "\xEF\xBB\xBF", 3) == 0 ? line + 3 : line;
    const bool is_comment = rest[strspn(rest, " \t")] == '#';
    rest += is_comment ? strspn(rest, " \t") + 1 : 0;
    bool has_number = false;
    double value = 0;
    while (rest && *n < n_max) {
        rest = take_field(rest, names[*n]);
        has_number = has_number || (!is_comment && number_parse(names[*n], &value));
        (*n)++;
    }
    *n = has_number ? 0 : *n;
    free(line);
    return DPOT_OK;
}
