/* The keys of a SPEC, in three tables, and the struct they are read into. Shared by the files of
 * the SPEC compiler.
 *
 * spec_compile reads the tables (spec_fields.c), then makes the campaign: domain and output
 * (spec_places.c), index mechanisms (spec_mechanism.c, spec_sphere.c), vector mechanisms
 * (spec_vector.c, spec_vector_set.c, spec_transform.c). */
#ifndef DPOT_CAMPAIGN_SPEC_FIELDS_H
#define DPOT_CAMPAIGN_SPEC_FIELDS_H

#include "model/campaign.h"
#include "json/fields.h"

/* The cases of json_case: which mechanism, one bit each. */
enum spec_case {
    SPEC_ENTROPIC = 1,
    SPEC_EXACT = 2,
    SPEC_SPHERE = 4, /* wpm on a sphere */
    SPEC_BASELINE = 8,
    SPEC_LAPLACE = 16,
    SPEC_GAUSSIAN = 32,
    SPEC_INDEX = SPEC_ENTROPIC | SPEC_EXACT | SPEC_SPHERE | SPEC_BASELINE,
    SPEC_VECTOR = SPEC_LAPLACE | SPEC_GAUSSIAN,
};

struct spec {
    struct dpot_campaign campaign;             /* being compiled; simple keys are read into it */
    const json_t *domain, *output, *mechanism; /* borrowed; NULL: not given */

    /* Of mechanism: */
    const json_t *base_measure; /* index; NULL: the mechanism's own */
    double lambda_relative;     /* 0: not given */
    const json_t *transform;
    double epsilon, delta; /* vector */
};

extern const struct json_field spec_fields[];           /* of the SPEC, into struct spec */
extern const struct json_field spec_mechanism_fields[]; /* of "mechanism", into struct spec */
extern const struct json_field spec_place_fields[];     /* of "domain" and "output" */

/* Reads the top level. */
DPOT_WARN_UNUSED dpot_status spec_read_top(const json_t *root, struct spec *spec,
                                           struct dpot_error *error);

/* Reads mechanism.type. */
DPOT_WARN_UNUSED dpot_status spec_read_type(struct spec *spec, struct dpot_error *error);

/* Reads the other keys of mechanism. The domain must have been set: a sphere has keys and ranges of
 * its own. */
DPOT_WARN_UNUSED dpot_status spec_read_mechanism(struct spec *spec, struct dpot_error *error);

/* Reads a time into an int64_t, as the `read` of a row (json/fields.h). */
DPOT_WARN_UNUSED dpot_status spec_read_time(const json_t *value, const char *name, void *member,
                                            struct dpot_error *error);
#define SPEC_TIME_REMEDY "give a UTC time such as \"2026-12-01T00:00:00Z\""

/* ---- domain and output ---- */

enum spec_place_type {
    SPEC_PLACE_POINTS,
    SPEC_PLACE_GRID,
    SPEC_PLACE_RING,
    SPEC_PLACE_SPHERE,
    SPEC_PLACE_DIRECTIONS,
    SPEC_PLACE_BOX,
    SPEC_PLACE_L1_BALL,
    SPEC_PLACE_L2_BALL,
    SPEC_PLACE_UNIT_BALL, /* "sphere" of a vector mechanism */
};

/* Keys that the type does not have are 0 or NULL. */
struct spec_place {
    enum spec_place_type type;
    const json_t *name; /* the type in the JSON */
    const json_t *points, *lo, *hi, *shape;
    uint32_t size, dim, count; /* 0: not given */
    double radius;
};

/* Reads the object at `path`. types: those it can have; their values are enum spec_place_type. */
DPOT_WARN_UNUSED dpot_status spec_read_place(const json_t *object, const char *path,
                                             const struct json_word *types,
                                             struct spec_place *place, struct dpot_error *error);

/* ---- the steps of spec_compile, in their order ---- */

/* Sets domain, output and metric of an index mechanism, but not the output of a sphere. */
DPOT_WARN_UNUSED dpot_status spec_set_places(struct spec *spec, struct dpot_error *error);

/* Sets the output of a sphere: the directions that a report can name (spec_sphere.h). */
DPOT_WARN_UNUSED dpot_status spec_set_directions(struct spec *spec, struct dpot_error *error);

/* Sets lambda, sensitivity and base measure of an index mechanism. */
DPOT_WARN_UNUSED dpot_status spec_set_mechanism(struct spec *spec, struct dpot_error *error);

/* Sets set, transform and noise of a vector mechanism, calibrated to integers. */
DPOT_WARN_UNUSED dpot_status spec_set_vector(struct spec *spec, struct dpot_error *error);

/* The total mass of the base measure on a sphere: as given, or the best for its directions. */
DPOT_WARN_UNUSED dpot_status spec_sphere_mass(const struct spec *spec, double *total,
                                              struct dpot_error *error);

/* True for `prefix` alone, which leaves *number unchanged, and for "prefix:NUMBER" with a finite
 * number above 0. */
bool spec_read_suffix(const char *text, const char *prefix, double *number);

#endif
