#include "http/head.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

const char *head_value(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Headers that decide where a message ends, what it is, or who sends it. */
enum { HEADER_LENGTH, HEADER_TRANSFER, HEADER_CONTENT, HEADER_TOKEN, HEADER_HOST, N_DECISIVE };
static const char *const decisive[N_DECISIVE] = {
    MHD_HTTP_HEADER_CONTENT_LENGTH, MHD_HTTP_HEADER_TRANSFER_ENCODING,
    MHD_HTTP_HEADER_CONTENT_ENCODING, MHD_HTTP_HEADER_AUTHORIZATION, MHD_HTTP_HEADER_HOST};

/* What was seen of a head so far. */
struct head {
    unsigned counts[N_DECISIVE];
    const char *end; /* of the value, or the version, before: where its line ends */
    bool is_first;   /* what comes is the first header */
    bool needs_host;
    const char *fault;
};

/* RFC 9110, 5.6.2: what a name may be made of. */
static bool is_token(const char *text, size_t len)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < len; i++) {
        const char c = text[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && (c == '\0' || !strchr(marks, c))) {
            return false;
        }
    }
    return len > 0;
}

static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* The library parses a head where it lies, NAME ':' blanks VALUE CR LF NAME ..., and puts NULs in place of the
 * colon and of what ends the line; a value is cut at its first NUL, and one that was NUL before is told by what
 * follows. A header that was folded over two lines has parts that the library copied: its name and value are
 * no neighbours any more. (What the copy says does not matter: it may have joined the second line to the
 * name.) */
static bool follows(const char *name, size_t name_len, const char *value)
{
    if ((uintptr_t)value <= (uintptr_t)name + name_len) {
        return false;
    }
    for (const char *at = name + name_len + 1; at < value; at++) {
        if (*at != ' ' && *at != '\t') {
            return false;
        }
    }
    return true;
}

/* CR LF, or what the library has made of it. It takes an LF alone for a line's end too, and is found out by where the
 * next line begins: one byte earlier. */
static bool is_line_end(const char *at)
{
    return (at[0] == '\0' || at[0] == '\r') && (at[1] == '\0' || at[1] == '\n');
}

static const char bad_line[] =
    "a header holds a control character, or its line does not end with CR LF";
static const char bad_end[] = "the head does not end with CR LF CR LF";
static const char bad_request_line[] =
    "the first line is not METHOD ADDRESS VERSION with one blank between them and CR LF behind";

static enum MHD_Result look_at(void *ctx, enum MHD_ValueKind kind, const char *name,
                               size_t name_len, const char *value, size_t value_len)
{
    struct head *head = ctx;
    (void)kind;
    if (!is_token(name, name_len)) {
        head->fault = "the name of a header is none: nothing stands before it, and its colon right "
                      "behind it";
    } else if (!value || !follows(name, name_len, value)) {
        head->fault = "a header is folded over two lines: send it in one";
    } else if (name != head->end + 2) {
        head->fault = head->is_first ? bad_request_line : bad_line;
    } else if (has_control(value, value_len) || !is_line_end(value + value_len)) {
        head->fault = bad_line;
    }
    head->is_first = false;
    head->end = value ? value + value_len : head->end;
    for (size_t i = 0; i < N_DECISIVE; i++) {
        head->counts[i] +=
            name_len == strlen(decisive[i]) && strncasecmp(name, decisive[i], name_len) == 0;
    }
    return head->fault ? MHD_NO : MHD_YES;
}

/* Two lengths, or a length beside chunks: two readers of such a message may disagree where it ends (RFC 9112,
 * 6.3). The same for any other header of these twice: a proxy may have believed the other one. */
static const char *find_contradiction(struct MHD_Connection *connection, const struct head *head)
{
    const unsigned *counts = head->counts;
    if (counts[HEADER_LENGTH] > 1 || (counts[HEADER_LENGTH] == 1 && counts[HEADER_TRANSFER] > 0)) {
        return "the length of the body is ambiguous: send one";
    }
    for (size_t i = 0; i < N_DECISIVE; i++) {
        if (counts[i] > 1) {
            return "a header that must be there once is there twice: send one";
        }
    }
    if (counts[HEADER_HOST] == 0 && head->needs_host) {
        return "there is no Host: send one (HTTP/1.1 requires it)";
    }
    const char *transfer = head_value(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    return transfer && strcasecmp(transfer, "chunked") != 0
               ? "the transfer encoding is not known here: send a length"
               : NULL;
}

/* METHOD NUL ADDRESS ... NUL VERSION: the address was unescaped where it lies, and its query cut off, so of the rest
 * only what is right before the version is still there. */
static bool is_request_line(const struct head_line *line)
{
    const size_t method_len = strlen(line->method);
    return is_token(line->method, method_len) && line->address == line->method + method_len + 1 &&
           !line->has_blank && is_line_end(line->version + strlen(line->version)) &&
           !strchr(line->version, ' ');
}

/* Bytes of the whole head, from the method to the empty line. */
static size_t head_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

const char *head_find_ambiguity(struct MHD_Connection *connection, const struct head_line *line)
{
    struct head head = {.end = line->version + strlen(line->version),
                        .is_first = true,
                        .needs_host = strcmp(line->version, "HTTP/1.0") != 0};
    if (!is_request_line(line)) {
        return bad_request_line;
    }
    (void)MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look_at, &head);
    if (!head.fault && head.end + 4 != line->method + head_size(connection)) {
        head.fault = head.is_first ? bad_request_line : bad_end;
    }
    return head.fault ? head.fault : find_contradiction(connection, &head);
}

bool head_has_blank(const char *address)
{
    return has_control(address, strlen(address)) || strpbrk(address, " \t") != NULL;
}

bool head_has_chunks(struct MHD_Connection *connection)
{
    return head_value(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}

unsigned head_judge_length(struct MHD_Connection *connection)
{
    static const char name[] = MHD_HTTP_HEADER_CONTENT_LENGTH;
    const char *value = NULL;
    size_t len = 0;
    uint64_t number = 0;
    if (MHD_lookup_connection_value_n(connection, MHD_HEADER_KIND, name, sizeof name - 1, &value,
                                      &len) != MHD_YES) {
        return 0;
    }
    bool fits = true;
    for (size_t i = 0; i < len; i++) {
        const unsigned digit = (unsigned char)value[i] - (unsigned)'0';
        if (digit > 9) {
            return 400;
        }
        fits = fits && number <= (UINT64_MAX - digit) / 10;
        number = 10 * number + digit;
    }
    return len == 0 ? 400 : fits ? 0 : 413;
}
