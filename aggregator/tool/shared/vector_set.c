#include "tool/shared/vector_set.h"

#include "base/alloc.h"

#include <string.h>

/* The set of a whole campaign SPEC; a transform determines the dimension. */
static dpot_status read_spec(const json_t *spec, struct spec_vector_set *set,
                             struct dpot_error *error)
{
    const json_t *mechanism = json_object_get(spec, "mechanism");
    struct dpot_transform transform = {0};
    dpot_status status = mechanism ? spec_read_transform(mechanism, &transform, error) : DPOT_OK;
    if (status == DPOT_OK) {
        status =
            spec_read_vector_set(json_object_get(spec, "domain"), transform.n_keep, set, error);
    }
    dpot_free_array(NULL, transform.keep, transform.n_keep, sizeof *transform.keep);
    return status;
}

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
        status = json_object_get(object, "domain")
                     ? read_spec(object, set, &run->error)
                     : spec_read_vector_set(object, 0, set, &run->error);
    }
    json_decref(object);
    if (status != DPOT_OK) {
        return dpot_error_prefix(&run->error, status, "--domain");
    }
    return status;
}
