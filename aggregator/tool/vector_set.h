/* --domain of dpot calibrate: a set of vectors as JSON, in the words of a campaign's SPEC. */
#ifndef DPOT_TOOL_VECTOR_SET_H
#define DPOT_TOOL_VECTOR_SET_H

#include "model/vector.h"
#include "tool/command.h"

struct vector_set {
    enum dpot_vector_set set;
    uint32_t dim;
    double radius;    /* balls; 1 for a sphere, which is its l2 ball */
    uint32_t n_sides; /* box: 1 (every coordinate alike) or dim */
    double *lo, *hi;  /* (n_sides) owned */
    const char
        *type; /* as it was written: "box", "l1_ball", "l2_ball", "sphere"; borrowed, static */
};

/* Reads `text`, JSON when it begins with {, otherwise the name of a file:
 *   {"type":"box","lo":[..],"hi":[..]}         or numbers lo, hi and "dim"
 *   {"type":"l1_ball"|"l2_ball","radius":R,"dim":D}
 *   {"type":"sphere","dim":D}                  radius 1
 * Unknown keys are refused. Zeroed on failure. */
DPOT_WARN_UNUSED dpot_status vector_set_read(struct run *run, const char *text,
                                             struct vector_set *set);
void vector_set_release(struct vector_set *set);

#endif
