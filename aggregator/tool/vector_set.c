#include "tool/vector_set.h"

#include <string.h>

dpot_status vector_set_read(struct run *run, const char *text, struct spec_vector_set *set)
{
    json_t *object = NULL;
    *set = (struct spec_vector_set){0};
    dpot_status status = DPOT_OK;
    if (text[0] == '{') {
        status = json_parse(text, strlen(text), &object, &run->error);
    } else {
        status = json_read(text, &object, &run->error);
    }
    if (status == DPOT_OK) {
        status = spec_read_vector_set(object, 0, set, &run->error);
    }
    json_decref(object);
    if (status != DPOT_OK) {
        return dpot_error_prefix(&run->error, status, "--domain");
    }
    return status;
}
