#include "http/head.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

const char *head_value(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Headers that decide where a message ends, what it is or who sends it: at most one each. */
enum { HEADER_LENGTH, HEADER_TRANSFER, HEADER_CONTENT, HEADER_TOKEN, HEADER_HOST, N_DECISIVE };
static const char *const decisive[N_DECISIVE] = {
    MHD_HTTP_HEADER_CONTENT_LENGTH, MHD_HTTP_HEADER_TRANSFER_ENCODING,
    MHD_HTTP_HEADER_CONTENT_ENCODING, MHD_HTTP_HEADER_AUTHORIZATION, MHD_HTTP_HEADER_HOST};

/* The head so far. */
struct head {
    unsigned counts[N_DECISIVE];
    const char *end; /* of the last value, or the version: where its line ends */
    bool is_first;   /* the next header is the first */
    bool needs_host;
    const char *fault;
};

/* A token of RFC 9110, 5.6.2. */
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

/* Whether a value stands behind its name. The library parses a head in place, NAME ':' blanks VALUE
 * CR LF NAME ..., and overwrites the colon and the first byte of the line's end with NUL. A value
 * is cut at its first NUL; a NUL that was received is found by what follows it. Of a header that
 * was folded over two lines the library copies parts, so name and value are no neighbours; the copy
 * itself is not checked, because it may have joined the second line to the name. */
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

/* CR LF, or what the library wrote over it. The library also accepts a bare LF, which is found by
 * where the next line begins: one byte earlier. */
static bool is_line_end(const char *at)
{
    return (at[0] == '\0' || at[0] == '\r') && (at[1] == '\0' || at[1] == '\n');
}

static const char bad_line[] =
    "a header holds a control character, or its line does not end with CR LF";
static const char bad_end[] = "the head does not end with CR LF CR LF";
static const char no_name[] = "a line of the head has no name before its colon, or begins with NUL";
static const char bad_request_line[] =
    "the first line is not METHOD ADDRESS VERSION, with single blanks between them, and CR LF";

static enum MHD_Result check_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                    size_t name_len, const char *value, size_t value_len)
{
    struct head *head = ctx;
    (void)kind;
    if (name_len == 0) {
        head->fault = no_name;
    } else if (!is_token(name, name_len)) {
        head->fault =
            "the name of a header is no token: put no blank before it or before its colon";
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

/* With two lengths, or a length and chunks, two readers may disagree where the message ends (RFC
 * 9112, 6.3). Any other decisive header given twice is refused as well: a proxy may have used the
 * other one. */
static const char *find_contradiction(struct MHD_Connection *connection, const struct head *head)
{
    const unsigned *counts = head->counts;
    if (counts[HEADER_LENGTH] > 1 || (counts[HEADER_LENGTH] == 1 && counts[HEADER_TRANSFER] > 0)) {
        return "the length of the body is ambiguous: send one";
    }
    for (size_t i = 0; i < N_DECISIVE; i++) {
        if (counts[i] > 1) {
            return "a header that may be given once is given twice: send one";
        }
    }
    if (counts[HEADER_HOST] == 0 && head->needs_host) {
        return "the header Host is missing: HTTP/1.1 requires one";
    }
    const char *transfer = head_value(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    return transfer && strcasecmp(transfer, "chunked") != 0
               ? "the transfer encoding is unknown: send a Content-Length"
               : NULL;
}

/* METHOD NUL ADDRESS ... NUL VERSION: the library unescaped the address in place and cut off its
 * query, so of the rest only the byte before the version can be checked. */
static bool is_request_line(const struct head_line *line)
{
    const size_t method_len = strlen(line->method);
    return is_token(line->method, method_len) && line->address == line->method + method_len + 1 &&
           !line->has_blank && is_line_end(line->version + strlen(line->version)) &&
           !strchr(line->version, ' ');
}

/* Bytes from the method to the end of the empty line. */
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
    (void)MHD_get_connection_values_n(connection, MHD_HEADER_KIND, check_header, &head);
    const char *end = line->method + head_size(connection);
    if (!head.fault && head.end + 4 != end) {
        /* The library takes a line without a name for the empty one that ends the head. */
        head.fault = head.is_first ? bad_request_line : head.end + 4 < end ? no_name : bad_end;
    }
    return head.fault ? head.fault : find_contradiction(connection, &head);
}

bool head_has_blank(const char *address)
{
    return has_control(address, strlen(address)) || strpbrk(address, " \t") != NULL;
}

const char *head_find_path(const char *address, bool *is_served)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t len = strlen(schemes[i]);
        if (strncasecmp(address, schemes[i], len) == 0) {
            const char *authority = address + len;
            const size_t authority_len = strcspn(authority, "/");
            *is_served = authority_len > 0 && !memchr(authority, '@', authority_len);
            return authority[authority_len] ? authority + authority_len : "/";
        }
    }
    return address;
}

bool head_has_chunks(struct MHD_Connection *connection)
{
    return head_value(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}
