/* The transport hook on libcurl, which no other file includes.
 *
 * One easy handle per transport, so that the connection stays alive between calls. Connecting, the
 * whole exchange and the body are bounded. http and https only, no redirects, no signals; proxies
 * by libcurl's environment variables. */
#include "base/alloc.h"
#include "dpot/hooks.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CONNECT_TIMEOUT_MS 10000L
#define HEADER_LINE_MAX 4096
#define PEER_SIZE 300

#ifdef CURLU_PUNYCODE /* since 7.88 */
#define HOST_FLAGS CURLU_PUNYCODE
#else
#define HOST_FLAGS 0
#endif

struct curl_transport {
    struct dpot_transport base; /* first: the hook's address is ours */
    CURL *easy;
    char *ca_file; /* NULL: the system's */
    size_t ca_file_size;
    char detail[CURL_ERROR_SIZE]; /* libcurl's words on the last failure */
};

/* One exchange, while it runs. */
struct exchange {
    const struct dpot_http_request *request;
    struct dpot_http_response *response;
    size_t received;
    dpot_status status; /* why the body was refused */
};

static size_t take_body(char *data, size_t size, size_t count, void *ctx)
{
    struct exchange *x = ctx;
    const size_t len = size * count; /* libcurl: size is 1, len at most CURL_MAX_WRITE_SIZE */
    if (len > x->request->body_max - x->received) {
        x->status = DPOT_ERR_TOO_LARGE;
        return 0;
    }
    if (x->request->on_body && len > 0) {
        x->status = x->request->on_body(x->request->sink, data, len);
    }
    if (x->status != DPOT_OK) {
        return 0;
    }
    x->received += len;
    return len;
}

/* 1 ends the exchange. An older caller has no is_cancelled. */
static int ask_whether_cancelled(void *ctx, curl_off_t to_receive, curl_off_t received,
                                 curl_off_t to_send, curl_off_t sent)
{
    const struct dpot_http_request *request = ((const struct exchange *)ctx)->request;
    const size_t end = offsetof(struct dpot_http_request, canceller) + sizeof request->canceller;
    (void)to_receive, (void)received, (void)to_send, (void)sent;
    return request->struct_size >= end && request->is_cancelled &&
           request->is_cancelled(request->canceller) != 0;
}

/* Sets an option unless an earlier one has failed. */
#define SET(easy, result, option, value)                                                           \
    ((result) = (result) == CURLE_OK ? curl_easy_setopt((easy), (option), (value)) : (result))

static CURLcode set_options(struct curl_transport *t, struct exchange *x)
{
    const struct dpot_http_request *request = x->request;
    const long timeout_ms = (long)(request->timeout_ms ? request->timeout_ms : 1);
    CURLcode result = CURLE_OK;
    t->detail[0] = '\0';
    SET(t->easy, result, CURLOPT_ERRORBUFFER, t->detail);
    SET(t->easy, result, CURLOPT_URL, request->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(t->easy, result, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    SET(t->easy, result, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    SET(t->easy, result, CURLOPT_NOSIGNAL, 1L);
    SET(t->easy, result, CURLOPT_FOLLOWLOCATION, 0L);
    SET(t->easy, result, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    SET(t->easy, result, CURLOPT_TIMEOUT_MS, timeout_ms);
    SET(t->easy, result, CURLOPT_WRITEFUNCTION, take_body);
    SET(t->easy, result, CURLOPT_WRITEDATA, (void *)x);
    SET(t->easy, result, CURLOPT_XFERINFOFUNCTION, ask_whether_cancelled);
    SET(t->easy, result, CURLOPT_XFERINFODATA, (void *)x);
    SET(t->easy, result, CURLOPT_NOPROGRESS, 0L);
    if (t->ca_file) {
        SET(t->easy, result, CURLOPT_CAINFO, t->ca_file);
    }
    if (strcmp(request->method, "POST") == 0) {
        SET(t->easy, result, CURLOPT_POST, 1L);
        SET(t->easy, result, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        SET(t->easy, result, CURLOPT_POSTFIELDS, request->body ? request->body : "");
    } else {
        SET(t->easy, result, CURLOPT_HTTPGET, 1L);
    }
    return result;
}

/* Appends "name: value" to the list. DPOT_ERR_TOO_LARGE for a value that does not fit a line. */
static dpot_status add_header(struct curl_slist **list, const char *name, const char *value)
{
    if (!value) {
        return DPOT_OK;
    }
    const size_t size = strlen(name) + strlen(value) + sizeof ": ";
    if (size > HEADER_LINE_MAX) {
        return DPOT_ERR_TOO_LARGE;
    }
    char *line = dpot_alloc_raw(NULL, size);
    struct curl_slist *longer = NULL;
    if (line) {
        (void)snprintf(line, size, "%s: %s", name, value);
        longer = curl_slist_append(*list, line);
    }
    dpot_free_secret(NULL, line, size, 1);
    if (!longer) {
        return DPOT_ERR_MEMORY;
    }
    *list = longer;
    return DPOT_OK;
}

static dpot_status build_headers(const struct dpot_http_request *request, struct curl_slist **list)
{
    dpot_status status = add_header(list, "Content-Type", request->content_type);
    if (status == DPOT_OK) {
        status = add_header(list, "Authorization", request->authorization);
    }
    if (status == DPOT_OK) {
        struct curl_slist *longer = curl_slist_append(*list, "Expect:"); /* no 100-continue */
        *list = longer ? longer : *list;
        status = longer ? DPOT_OK : DPOT_ERR_MEMORY;
    }
    return status;
}

/* A caller compiled with an older header has no content_type. */
static void put_content_type(CURL *easy, struct dpot_http_response *response)
{
    const size_t end =
        offsetof(struct dpot_http_response, content_type) + sizeof response->content_type;
    char *type = NULL;
    if (response->struct_size >= end) {
        (void)curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
        (void)snprintf(response->content_type, sizeof response->content_type, "%s",
                       type ? type : "");
    }
}

/* Seconds, from a number or a date. A number too large for libcurl, which reads it as none, is the
 * longest wait. */
static uint32_t find_retry_after(CURL *easy)
{
    curl_off_t wait_s = 0;
    struct curl_header *header = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s);
    if (wait_s <= 0 &&
        curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &header) == CURLHE_OK) {
        const char *number = header->value + strspn(header->value, "0");
        wait_s = strspn(number, "0123456789") > 18 ? UINT32_MAX : 0;
    }
    return wait_s <= 0 ? 0 : wait_s > UINT32_MAX ? UINT32_MAX : (uint32_t)wait_s;
}

/* What failed, in words for people. For the rest the text of DPOT_ERR_NETWORK suffices. */
static const struct {
    CURLcode result;
    const char *text;
} reasons[] = {
    {CURLE_URL_MALFORMAT, "the URL is not valid: check its host and port"},
    {CURLE_COULDNT_RESOLVE_HOST, "no address is known for its name: check the URL and the network"},
    {CURLE_COULDNT_RESOLVE_PROXY,
     "no address is known for the proxy: check https_proxy, http_proxy and no_proxy"},
    {CURLE_COULDNT_CONNECT, "nothing accepts a connection there: check host, port and firewall"},
    {CURLE_PROXY, "the proxy refused or broke the connection: check https_proxy and http_proxy"},
    {CURLE_SSL_CACERT_BADFILE,
     "the file of trusted certificates (--ca-file) cannot be read, or holds none"},
    {CURLE_SSL_CONNECT_ERROR, "the TLS handshake failed; is it http:// and not https://?"},
    {CURLE_GOT_NOTHING, "the connection ended without one"},
    {CURLE_PARTIAL_FILE, "the connection ended before its end"},
    {CURLE_RECV_ERROR, "the connection broke before its end"},
    {CURLE_SEND_ERROR, "the connection broke while the request was sent"},
    {CURLE_WEIRD_SERVER_REPLY, "what answers there does not speak HTTP"},
    {CURLE_OUT_OF_MEMORY, "a header of the answer is too large"},
    {CURLE_UNSUPPORTED_PROTOCOL, "what answers there does not speak HTTP"},
    {CURLE_ABORTED_BY_CALLBACK, "cancelled"},
    {CURLE_OK, "the exchange ended without a status"},
};

/* Writes "HOST:PORT", or "[HOST]:PORT" of an IPv6 address, without a dot that ends the host. */
static void write_peer(const char *host, size_t host_len, const char *port, size_t port_len,
                       char peer[PEER_SIZE])
{
    const bool is_ipv6 = memchr(host, ':', host_len) != NULL;
    host_len -= host_len > 0 && host[host_len - 1] == '.';
    (void)snprintf(peer, PEER_SIZE, "%s%.*s%s%s%.*s", is_ipv6 ? "[" : "", (int)host_len, host,
                   is_ipv6 ? "]" : "", port_len ? ":" : "", (int)port_len, port);
}

/* Writes the peer that a URL names, as libcurl's messages have it; "" if it cannot be told. */
static void write_peer_of_url(const char *url, char peer[PEER_SIZE])
{
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL;
    peer[0] = '\0';
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, HOST_FLAGS) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        const size_t bracket = host[0] == '[' ? 1 : 0;
        write_peer(host + bracket, strlen(host) - 2 * bracket, port, strlen(port), peer);
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
}

/* Writes the proxy that accepts no connection. libcurl names the peer, never with the password of
 * its URL: "Failed to connect to HOST port PORT", where another peer than the URL's is a proxy;
 * newer releases add "via PROXY". False: it is the server. */
static bool find_proxy(const char *detail, const char *url, char proxy[PEER_SIZE])
{
    static const char before[] = "Failed to connect to ";
    char server[PEER_SIZE];
    const char *host = detail + sizeof before - 1;
    const char *port = strstr(detail, " port "), *via = strstr(detail, " via ");
    if (!port || strncmp(detail, before, sizeof before - 1) != 0) {
        return false;
    }
    if (via) {
        write_peer(via + 5, strcspn(via + 5, " "), "", 0, proxy);
        return true;
    }
    write_peer(host, (size_t)(port - host), port + 6, strspn(port + 6, "0123456789"), proxy);
    write_peer_of_url(url, server);
    return server[0] && strcasecmp(proxy, server) != 0;
}

/* Whether a connection was made before the time was over. */
static bool was_connected(CURL *easy)
{
    curl_off_t connect_us = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connect_us);
    return connect_us > 0;
}

/* A lack of memory after this is a header above the limit of libcurl, some megabytes. */
static bool has_answer_begun(CURL *easy)
{
    curl_off_t first_byte_us = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte_us);
    return first_byte_us > 0;
}

static const char *find_reason(const struct curl_transport *t, CURLcode result)
{
    if (result == CURLE_OPERATION_TIMEDOUT) {
        return was_connected(t->easy)
                   ? "no complete answer came in time"
                   : "no connection came about in time: check host, port and firewall";
    }
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].result == result) {
            return reasons[i].text;
        }
    }
    return "";
}

/* A caller compiled with an older header has no reason. */
static void put_reason(const struct curl_transport *t, CURLcode result, const char *url,
                       struct dpot_http_response *response)
{
    const size_t end = offsetof(struct dpot_http_response, reason) + sizeof response->reason;
    char proxy[PEER_SIZE];
    if (response->struct_size < end) {
        return;
    }
    if (result == CURLE_PEER_FAILED_VERIFICATION) { /* expired, of another host, not known */
        (void)snprintf(response->reason, sizeof response->reason,
                       "its certificate is not trusted (--ca-file adds an authority): %.95s",
                       t->detail);
    } else if (result == CURLE_COULDNT_CONNECT && find_proxy(t->detail, url, proxy)) {
        (void)snprintf(response->reason, sizeof response->reason,
                       "the proxy %.80s accepts no connection: check https_proxy, http_proxy and "
                       "no_proxy",
                       proxy);
    } else {
        (void)snprintf(response->reason, sizeof response->reason, "%s", find_reason(t, result));
    }
}

static dpot_status read_answer(const struct curl_transport *t, CURLcode result,
                               const struct exchange *x)
{
    CURL *easy = t->easy;
    long status = 0;
    if (result != CURLE_OK) {
        if (x->status != DPOT_OK) {
            return x->status;
        }
        if (result == CURLE_OUT_OF_MEMORY && !has_answer_begun(easy)) {
            return DPOT_ERR_MEMORY;
        }
        put_reason(t, result, x->request->url, x->response);
        return DPOT_ERR_NETWORK;
    }
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    x->response->status = (int)status;
    put_content_type(easy, x->response);
    x->response->retry_after_s = find_retry_after(easy);
    if (status == 0) {
        put_reason(t, CURLE_OK, x->request->url, x->response);
    }
    return status == 0 ? DPOT_ERR_NETWORK : DPOT_OK;
}

static dpot_status perform(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response)
{
    struct curl_transport *t = ctx;
    struct exchange x = {.request = request, .response = response};
    struct curl_slist *headers = NULL;
    dpot_status status = build_headers(request, &headers);
    if (status == DPOT_OK) {
        curl_easy_reset(t->easy); /* options go, the connection stays */
        CURLcode result = set_options(t, &x);
        SET(t->easy, result, CURLOPT_HTTPHEADER, headers);
        result = result == CURLE_OK ? curl_easy_perform(t->easy) : result;
        status = read_answer(t, result, &x);
    }
    curl_slist_free_all(headers);
    return status;
}

static dpot_status copy_text(const char *text, char **copy, size_t *size)
{
    *size = text ? strlen(text) + 1 : 0;
    *copy = text ? dpot_alloc_array(NULL, *size, sizeof(char)) : NULL;
    if (text && !*copy) {
        return DPOT_ERR_MEMORY;
    }
    if (text) {
        memcpy(*copy, text, *size);
    }
    return DPOT_OK;
}

dpot_status dpot_transport_curl_new(const char *ca_file, struct dpot_transport **transport)
{
    if (!transport) {
        return DPOT_ERR_ARGUMENT;
    }
    *transport = NULL;
    /* libcurl counts these calls: harmless when the application has made one. */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return DPOT_ERR_NETWORK;
    }
    struct curl_transport *t = dpot_alloc_array(NULL, 1, sizeof *t);
    if (!t) {
        curl_global_cleanup();
        return DPOT_ERR_MEMORY;
    }
    t->base = (struct dpot_transport){.struct_size = sizeof t->base, .ctx = t, .perform = perform};
    t->easy = curl_easy_init();
    const dpot_status status = copy_text(ca_file, &t->ca_file, &t->ca_file_size);
    if (!t->easy || status != DPOT_OK) {
        dpot_transport_curl_free(&t->base);
        return DPOT_ERR_MEMORY;
    }
    *transport = &t->base;
    return DPOT_OK;
}

void dpot_transport_curl_free(struct dpot_transport *transport)
{
    if (transport) {
        struct curl_transport *t = transport->ctx;
        curl_easy_cleanup(t->easy);
        dpot_free_array(NULL, t->ca_file, t->ca_file_size, sizeof(char));
        dpot_free_array(NULL, t, 1, sizeof *t);
        curl_global_cleanup();
    }
}
