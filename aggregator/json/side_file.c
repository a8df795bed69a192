#include "json/side_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NULL when memory is out. */
static char *name_of(const char *path)
{
    const size_t cap = strlen(path) + sizeof ".json";
    char *name = malloc(cap);
    if (name) {
        (void)snprintf(name, cap, "%s.json", path);
    }
    return name;
}

dpot_status side_file_write(const char *path, const json_t *object, struct dpot_error *error)
{
    if (strcmp(path, "-") == 0) {
        return DPOT_OK;
    }
    char *name = name_of(path);
    const dpot_status status = name ? json_write(name, object, error) : DPOT_ERR_MEMORY;
    free(name);
    return status;
}

dpot_status side_file_read(const char *path, json_t **object, struct dpot_error *error)
{
    *object = NULL;
    char *name = name_of(path);
    dpot_status status = name ? DPOT_ERR_NOT_FOUND : DPOT_ERR_MEMORY;
    if (name && strcmp(path, "-") != 0 && access(name, F_OK) == 0) {
        status = json_read(name, object, error);
    }
    free(name);
    return status;
}
