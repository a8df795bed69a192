/* Side files: F.json beside an output F, with what the array alone does not tell. */
#ifndef DPOT_JSON_SIDE_FILE_H
#define DPOT_JSON_SIDE_FILE_H

#include "json/json.h"

/* Writes `object` to "<path>.json"; for "-" there is none and nothing is written. */
DPOT_WARN_UNUSED dpot_status side_file_write(const char *path, const json_t *object,
                                             struct dpot_error *error);

/* Reads "<path>.json"; DPOT_ERR_NOT_FOUND without a sentence when there is none. */
DPOT_WARN_UNUSED dpot_status side_file_read(const char *path, json_t **object,
                                            struct dpot_error *error);

#endif
