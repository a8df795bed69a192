#include "cli/object.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>

static void put_string(FILE *stream, const char *text)
{
    fputc('"', stream);
    while (*text) {
        const size_t len = dpot_utf8_decode(text, SIZE_MAX, NULL);
        if (len == 0) {
            fputs(DPOT_UTF8_REPLACEMENT, stream);
        } else if (*text == '"' || *text == '\\') {
            fprintf(stream, "\\%c", *text);
        } else if ((unsigned char)*text < 0x20) {
            fprintf(stream, "\\u%04x", (unsigned)*text);
        } else {
            fwrite(text, 1, len, stream);
        }
        text += len > 0 ? len : 1;
    }
    fputc('"', stream);
}

static void put_key(struct object *object, const char *key)
{
    fputs(object->has_members ? ", " : "", object->stream);
    object->has_members = true;
    put_string(object->stream, key);
    fputs(": ", object->stream);
}

void object_begin(struct object *object, FILE *stream)
{
    *object = (struct object){.stream = stream};
    fputc('{', stream);
}

void object_text(struct object *object, const char *key, const char *value)
{
    put_key(object, key);
    put_string(object->stream, value);
}

void object_count(struct object *object, const char *key, uint64_t value)
{
    put_key(object, key);
    fprintf(object->stream, "%" PRIu64, value);
}

void object_number(struct object *object, const char *key, double value)
{
    put_key(object, key);
    if (isfinite(value)) {
        fprintf(object->stream, "%.17g", value);
    } else {
        fputs("null", object->stream);
    }
}

void object_bool(struct object *object, const char *key, bool value)
{
    put_key(object, key);
    fputs(value ? "true" : "false", object->stream);
}

void object_end(struct object *object)
{
    fputs("}\n", object->stream);
}
