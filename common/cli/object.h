/* Writes one flat JSON object, key by key, to a stream. A failed write is left for the caller to see in
 * ferror. */
#ifndef DPOT_CLI_OBJECT_H
#define DPOT_CLI_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct object {
    FILE *stream;
    bool has_members;
};

void object_begin(struct object *object, FILE *stream);
void object_text(struct object *object, const char *key, const char *value); /* not UTF-8: U+FFFD */
void object_count(struct object *object, const char *key, uint64_t value);
void object_number(struct object *object, const char *key, double value); /* not finite: null */
void object_bool(struct object *object, const char *key, bool value);
void object_end(struct object *object); /* with a newline */

#endif
