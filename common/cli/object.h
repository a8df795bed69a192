/* Writes one flat JSON object to a stream, key by key. Check ferror(stream) for failed writes. */
#ifndef DPOT_CLI_OBJECT_H
#define DPOT_CLI_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct object {
    FILE *stream;
    bool has_members;
};

/* Bytes that are not UTF-8 are written as U+FFFD, numbers that are not finite as null. */
void object_begin(struct object *object, FILE *stream);
void object_text(struct object *object, const char *key, const char *value);
void object_count(struct object *object, const char *key, uint64_t value);
void object_number(struct object *object, const char *key, double value);
void object_bool(struct object *object, const char *key, bool value);
void object_end(struct object *object); /* and a newline */

#endif
