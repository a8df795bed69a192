#include "cli/values.h"

#include "cli/options.h"
#include "files/number.h"
#include "files/spelling.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

/* ---- the grammar ---- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool values_are_files(const char *value)
{
    return value[0] == 'F' || begins_with(value, "SPEC");
}

bool values_are_folders(const char *value)
{
    return begins_with(value, "DIR");
}

void values_name(const char *value, char out[VALUES_TEXT_SIZE])
{
    (void)snprintf(out, VALUES_TEXT_SIZE, "%.*s", (int)strcspn(value, " "), value);
}

static bool is_literal(const char *word, size_t len)
{
    size_t n_same = 0;
    while (n_same < len && strchr("abcdefghijklmnopqrstuvwxyz0123456789-", word[n_same])) {
        n_same++;
    }
    return len > 0 && n_same == len && !(len == 1 && word[0] == '-');
}

size_t values_next_word(const char **at)
{
    while (**at) {
        *at += strspn(*at, "| ");
        const size_t len = strcspn(*at, "| ");
        if (is_literal(*at, len)) {
            return len;
        }
        *at += len;
    }
    return 0;
}

bool values_are_words(const char *value)
{
    const char *at = value;
    if (!strchr(value, '|')) {
        return false;
    }
    while (*at) {
        const size_t len = strcspn(at, "|");
        if (!is_literal(at, len)) {
            return false;
        }
        at += len + (at[len] == '|');
    }
    return true;
}

/* ---- ranges ---- */

struct range {
    bool is_integer;
    char least[NUMBER_SIZE], most[NUMBER_SIZE]; /* as the table writes them; most "": no end */
    bool is_above, is_below;                    /* the ends themselves are out of the range */
};

static void copy(char out[NUMBER_SIZE], const char *text, size_t len)
{
    (void)snprintf(out, NUMBER_SIZE, "%.*s", (int)len, text);
}

/* false: the placeholder has no range. */
static bool read_range(const char *value, struct range *r)
{
    const char *text = value + strcspn(value, " ");
    *r = (struct range){.is_integer = true};
    if (*text == '\0') {
        return false;
    }
    text++;
    const char *end = strstr(text, "..");
    if (end) {
        copy(r->least, text, (size_t)(end - text));
        copy(r->most, end + 2, strlen(end + 2));
        return true;
    }
    const size_t len = strlen(text), comma = strcspn(text, ",");
    r->is_integer = false;
    r->is_above = text[0] == '(';
    r->is_below = text[len - 1] == ')';
    copy(r->least, text + 1, comma - 1);
    copy(r->most, text + comma + 1, len - comma - 2);
    if (strcmp(r->most, "inf") == 0) {
        r->most[0] = '\0';
    }
    return true;
}

static void write_range(const struct range *r, char out[VALUES_TEXT_SIZE])
{
    if (r->most[0] == '\0') {
        (void)snprintf(out, VALUES_TEXT_SIZE, "%s %s", r->is_above ? "above" : "at least",
                       r->least);
    } else if (!r->is_above && !r->is_below) {
        (void)snprintf(out, VALUES_TEXT_SIZE, "from %s to %s", r->least, r->most);
    } else {
        (void)snprintf(out, VALUES_TEXT_SIZE, "%s %s, %s %s", r->is_above ? "above" : "at least",
                       r->least, r->is_below ? "below" : "at most", r->most);
    }
}

void values_range(const char *value, char out[VALUES_TEXT_SIZE])
{
    struct range r;
    out[0] = '\0';
    if (read_range(value, &r)) {
        write_range(&r, out);
    }
}

static bool is_integer_within(const struct range *r, const char *text)
{
    uint64_t value = 0, least = 0, most = UINT64_MAX;
    (void)number_parse_integer(r->least, &least);
    if (r->most[0]) {
        (void)number_parse_integer(r->most, &most);
    }
    return number_parse_integer(text, &value) && value >= least && value <= most;
}

static bool is_number_within(const struct range *r, const char *text)
{
    double value = 0, least = 0, most = DBL_MAX;
    (void)number_parse(r->least, &least);
    if (r->most[0]) {
        (void)number_parse(r->most, &most);
    }
    return number_parse_finite(text, &value) && (r->is_above ? value > least : value >= least) &&
           (r->is_below ? value < most : value <= most);
}

static dpot_status check_range(struct run *run, const struct option *option, const char *text)
{
    struct range r;
    char words[VALUES_TEXT_SIZE];
    if (!read_range(option->value, &r) ||
        (r.is_integer ? is_integer_within(&r, text) : is_number_within(&r, text))) {
        return DPOT_OK;
    }
    if (r.is_integer && !r.most[0] && text[strspn(text, "0123456789")] == '\0') {
        (void)snprintf(r.most, sizeof r.most, "%" PRIu64, UINT64_MAX); /* it may be above this */
    }
    write_range(&r, words);
    return RUN_USAGE(run, "--%s is %.40s: give %s %s", option_spelling(run, option->name), text,
                     r.is_integer ? "an integer" : "a number", words);
}

/* ---- words ---- */

static void list_words(const char *value, char out[VALUES_TEXT_SIZE])
{
    size_t used = 0, len = 0;
    for (const char *at = value; (len = values_next_word(&at)) > 0; at += len) {
        const char *between = used == 0 ? "" : strchr(at, '|') ? ", " : " or ";
        const int n =
            snprintf(out + used, VALUES_TEXT_SIZE - used, "%s%.*s", between, (int)len, at);
        used += (size_t)n < VALUES_TEXT_SIZE - used ? (size_t)n : 0;
    }
}

static dpot_status check_words(struct run *run, const struct option *option, const char *text)
{
    struct spelling spelling = {.text = text};
    char words[VALUES_TEXT_SIZE], hint[SPELLING_HINT_SIZE];
    size_t len = 0;
    for (const char *at = option->value; (len = values_next_word(&at)) > 0; at += len) {
        if (strlen(text) == len && memcmp(at, text, len) == 0) {
            return DPOT_OK;
        }
        spelling_offer(&spelling, at, len);
    }
    list_words(option->value, words);
    spelling_hint(&spelling, "", hint);
    return RUN_USAGE(run, "--%s is %.40s: choose %s%s", option_spelling(run, option->name), text,
                     words, hint);
}

dpot_status values_check(struct run *run, const struct option *option, const char *text)
{
    return values_are_words(option->value) ? check_words(run, option, text)
                                           : check_range(run, option, text);
}
