#include "tool/shared/revision.h"

#include "tool/shared/options.h"

#include <stdio.h>
#include <string.h>

#define SENTENCE_SIZE 256
#define SHORT_HASH 12 /* hex digits */

dpot_status revision_read(struct run *run, uint32_t *number)
{
    uint64_t value = 0;
    const dpot_status status = option_integer(run, "revision", 1, UINT32_MAX, &value);
    *number = (uint32_t)value;
    return status;
}

void revision_append(char *path, size_t cap, uint32_t number)
{
    const size_t len = strlen(path);
    if (number > 0) {
        (void)snprintf(path + len, cap - len, "?revision=%u", number);
    }
}

uint32_t revision_of(const json_t *answer)
{
    const json_int_t number = json_integer_value(json_object_get(answer, "revision"));
    return number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

dpot_status revision_check(struct run *run, const json_t *answer, uint32_t number)
{
    return number == 0 || revision_of(answer) == number
               ? DPOT_OK
               : dpot_error_set(&run->error, DPOT_ERR_SERVER,
                                "the server does not answer about revision %u: it is older than "
                                "this program",
                                number);
}

/* Formats "1,000". */
static void group_digits(char *out, size_t cap, json_int_t n)
{
    char digits[32];
    const int len = snprintf(digits, sizeof digits, "%lld", (long long)(n > 0 ? n : 0));
    size_t at = 0;
    for (int i = 0; i < len && at + 2 < cap; i++) {
        if (i > 0 && (len - i) % 3 == 0) {
            out[at++] = ',';
        }
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "-";
}

/* Formats "1,000 reports". */
static void count_reports(char *out, size_t cap, const json_t *row)
{
    char n[48];
    const json_int_t n_reports = json_integer_value(json_object_get(row, "reports"));
    group_digits(n, sizeof n, n_reports);
    (void)snprintf(out, cap, "%s report%s", n, n_reports == 1 ? "" : "s");
}

void revision_sentence(const json_t *row, char *out, size_t cap)
{
    char reports[64];
    const unsigned number = revision_of(row);
    count_reports(reports, sizeof reports, row);
    (void)snprintf(out, cap, "revision %u (%.10s) holds %s: --revision %u", number,
                   text_of(row, "state"), reports, number);
}

/* Formats a row of "revisions". */
static void describe_row(const json_t *row, char *out, size_t cap)
{
    char reports[64];
    count_reports(reports, sizeof reports, row);
    (void)snprintf(out, cap, "%u: %.10s, %s, hash %.*s, %.24s to %.24s", revision_of(row),
                   text_of(row, "state"), reports, SHORT_HASH, text_of(row, "hash"),
                   text_of(row, "opens"), text_of(row, "closes"));
}

/* Formats the revision that opening another one has closed. */
static void describe_closed(const json_t *row, char *out, size_t cap)
{
    char reports[64];
    const unsigned number = revision_of(row);
    count_reports(reports, sizeof reports, row);
    (void)snprintf(out, cap, "revision %u, whose pool (%s) stays readable with --revision %u",
                   number, reports, number);
}

static void present_list(json_t *copy, const char *key,
                         void (*describe)(const json_t *row, char *out, size_t cap))
{
    const json_t *rows = json_object_get(copy, key);
    json_t *lines = json_array();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        char text[SENTENCE_SIZE];
        describe(json_array_get(rows, i), text, sizeof text);
        (void)json_array_append_new(lines, json_string(text));
    }
    (void)json_object_del(copy, key);
    if (json_array_size(lines) > 0) { /* at the end, after the numbers */
        (void)json_object_set(copy, key, lines);
    }
    json_decref(lines);
}

json_t *revision_present(const struct run *run, json_t *answer)
{
    if (run->is_json) {
        return json_incref(answer);
    }
    json_t *copy = json_copy(answer);
    const json_t *closed = json_object_get(answer, "closed");
    present_list(copy, "other_revisions", revision_sentence);
    present_list(copy, "revisions", describe_row);
    (void)json_object_del(copy, "closed");
    if (json_is_object(closed)) {
        char text[SENTENCE_SIZE];
        describe_closed(closed, text, sizeof text);
        (void)json_object_set_new(copy, "closed", json_string(text));
    }
    return copy;
}
