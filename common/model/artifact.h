/* Artifacts: the immutable result of a job, with everything needed to verify and repeat it.
 *
 * An artifact is named by its digest, the BLAKE2b-256 of its canonical bytes
 * (proto/wire_artifact.h). It has no time and no random id: the same job on the same pool by the
 * same program gives the same bytes, hence the same name. It contains results only, never a
 * report. */
#ifndef DPOT_MODEL_ARTIFACT_H
#define DPOT_MODEL_ARTIFACT_H

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Lengths in bytes, without the NUL. */
#define DPOT_ARTIFACT_NAME_MAX 32         /* kind, program version, name of a number */
#define DPOT_ARTIFACT_PARAMETERS_MAX 2048 /* a JSON object */
#define DPOT_ARTIFACT_NUMBERS_MAX 32
#define DPOT_ARTIFACT_VALUES_MAX (1u << 22)
#define DPOT_ARTIFACT_BYTES_MAX (64u << 20)
#define DPOT_ARTIFACT_MODEL_MAX (60u << 20)

struct dpot_artifact_number {
    char name[DPOT_ARTIFACT_NAME_MAX + 1]; /* [a-z0-9_-], at least one */
    double value;                          /* finite */
};

struct dpot_artifact {
    char kind[DPOT_ARTIFACT_NAME_MAX + 1];            /* of the job, [a-z0-9_-] */
    char program_version[DPOT_ARTIFACT_NAME_MAX + 1]; /* that made it */
    uint8_t campaign_hash[DPOT_HASH_LEN];             /* of the revision */
    uint32_t revision;                                /* its number; 0: not recorded */

    bool has_pool;                        /* false: no report was used */
    uint64_t pool_count;                  /* accepted reports that were used */
    uint8_t pool_checksum[DPOT_HASH_LEN]; /* of those (pool/snapshot.h) */

    /* All parameters, as one JSON object; printable ASCII. */
    char parameters[DPOT_ARTIFACT_PARAMETERS_MAX + 1];

    size_t n_values;
    double *values; /* (n_values) the result, finite; owned */
    size_t n_counts;
    uint64_t *counts; /* (n_counts) owned */

    size_t n_numbers;
    struct dpot_artifact_number numbers[DPOT_ARTIFACT_NUMBERS_MAX];

    size_t n_model;
    uint8_t *model; /* (n_model) the bytes of an ONNX file; owned */

    const struct dpot_allocator *allocator; /* of values, counts and model */
};

/* Frees the content; a zeroed struct is allowed. */
void dpot_artifact_release(struct dpot_artifact *artifact);

/* Adds a named number. DPOT_ERR_TOO_LARGE: the name is too long, or there are too many. */
DPOT_WARN_UNUSED dpot_status dpot_artifact_add_number(struct dpot_artifact *artifact,
                                                      const char *name, double value);

/* Finds a number by name. DPOT_ERR_NOT_FOUND: *value is unchanged. */
DPOT_WARN_UNUSED dpot_status dpot_artifact_find_number(const struct dpot_artifact *artifact,
                                                       const char *name, double *value);

/* Checks lengths, alphabets and that values are finite. The error names the offender. */
DPOT_WARN_UNUSED dpot_status dpot_artifact_check(const struct dpot_artifact *artifact,
                                                 struct dpot_error *error);

#endif
