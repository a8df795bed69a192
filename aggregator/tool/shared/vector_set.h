/* The option --domain: a set of vectors as JSON, in the form of a campaign's SPEC, or a whole SPEC,
 * of which the domain and the dimension of the transform are read. */
#ifndef DPOT_TOOL_SHARED_VECTOR_SET_H
#define DPOT_TOOL_SHARED_VECTOR_SET_H

#include "campaign/spec_vector.h"
#include "tool/shared/command.h"

/* Reads `text`: JSON if it begins with '{', otherwise the name of a file. *set is zeroed on
 * failure. */
DPOT_WARN_UNUSED dpot_status vector_set_read(struct run *run, const char *text,
                                             struct spec_vector_set *set);

#endif
