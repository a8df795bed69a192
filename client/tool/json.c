#include "json.h"

#include <inttypes.h>
#include <math.h>

static void put_string(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            fprintf(stream, "\\%c", *c);
        } else if ((unsigned char)*c < 0x20) {
            fprintf(stream, "\\u%04x", (unsigned)(unsigned char)*c);
        } else {
            fputc(*c, stream);
        }
    }
    fputc('"', stream);
}

static void put_key(struct json *json, const char *key)
{
    fputs(json->has_members ? ", " : "", json->stream);
    json->has_members = true;
    put_string(json->stream, key);
    fputs(": ", json->stream);
}

void json_begin(struct json *json, FILE *stream)
{
    *json = (struct json){.stream = stream};
    fputc('{', stream);
}

void json_text(struct json *json, const char *key, const char *value)
{
    put_key(json, key);
    put_string(json->stream, value);
}

void json_count(struct json *json, const char *key, uint64_t value)
{
    put_key(json, key);
    fprintf(json->stream, "%" PRIu64, value);
}

void json_number(struct json *json, const char *key, double value)
{
    put_key(json, key);
    if (isfinite(value)) {
        fprintf(json->stream, "%.17g", value);
    } else {
        fputs("null", json->stream);
    }
}

void json_bool(struct json *json, const char *key, bool value)
{
    put_key(json, key);
    fputs(value ? "true" : "false", json->stream);
}

void json_end(struct json *json)
{
    fputs("}\n", json->stream);
}
