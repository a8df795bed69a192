/* Writes one flat JSON object, key by key, to a stream. */
#ifndef DPOT_TOOL_JSON_H
#define DPOT_TOOL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *stream;
    bool has_members;
};

void json_begin(struct json *json, FILE *stream);
void json_text(struct json *json, const char *key, const char *value);
void json_count(struct json *json, const char *key, uint64_t value);
void json_number(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_end(struct json *json); /* with a newline */

#endif
