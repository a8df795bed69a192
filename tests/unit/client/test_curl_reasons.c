/* Why no answer came: each cause is produced over real sockets and named by its own sentence. The
 * TLS servers are openssl s_server. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include "dpot/hooks.h"
#include "support/child.h"
#include "unit/client/raw_server.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 60000 /* no exchange that ends takes that long, on whatever machine */

static char folder[] = "/tmp/dpot-reasons-XXXXXX";

static void set_up(void)
{
    static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                          "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
    for (size_t i = 0; i < sizeof proxies / sizeof proxies[0]; i++) {
        cr_assert_eq(unsetenv(proxies[i]), 0);
    }
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void tear_down(void)
{
    static const char *const names[] = {"key.pem", "request.pem", "cert.pem"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)unlink(names[i]);
    }
    (void)rmdir(folder);
}

TestSuite(curl_reasons, .init = set_up, .fini = tear_down);

static dpot_status take(void *sink, const void *data, size_t len)
{
    (void)sink;
    (void)data;
    (void)len;
    return DPOT_OK;
}

static struct dpot_http_response response;

static const char *reason_of(const char *url, const char *ca_file, uint32_t timeout_ms)
{
    struct dpot_transport *transport = NULL;
    const struct dpot_http_request request = {.struct_size = sizeof request,
                                              .method = "GET",
                                              .url = url,
                                              .timeout_ms = timeout_ms,
                                              .body_max = 60000,
                                              .on_body = take};
    response = (struct dpot_http_response){.struct_size = sizeof response};
    cr_assert_eq(dpot_transport_curl_new(ca_file, &transport), DPOT_OK);
    cr_assert_eq(transport->perform(transport->ctx, &request, &response), DPOT_ERR_NETWORK);
    dpot_transport_curl_free(transport);
    return response.reason;
}

static void expect_reason(const char *url, const char *ca_file, const char *word)
{
    const char *reason = reason_of(url, ca_file, LONG_MS);
    cr_assert_not_null(strstr(reason, word), "%s: \"%s\" lacks \"%s\"", url, reason, word);
}

/* An address where nothing listens: port 1 is reserved. */
#define CLOSED "http://127.0.0.1:1/"

Test(curl_reasons, a_refused_connection_says_so)
{
    expect_reason(CLOSED, NULL, "nothing accepts a connection there");
}

Test(curl_reasons, an_unknown_name_says_so)
{
    expect_reason("http://no-such-host.invalid/", NULL, "no address is known for its name");
}

Test(curl_reasons, a_dead_proxy_says_so)
{
    static const struct {
        const char *proxy, *word;
    } cases[] = {
        {"http://127.0.0.1:1", "the proxy 127.0.0.1:1 accepts no connection"},
        {"http://[::1]:1", "the proxy [::1]:1 accepts no connection"},
        {"http://user:secret@127.0.0.1:1", "the proxy 127.0.0.1:1 accepts no connection"},
        {"http://no-such-proxy.invalid:3128", "no address is known for the proxy"},
        {"http://user:secret@[bad", "no address is known for the proxy"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(setenv("http_proxy", cases[i].proxy, 1), 0);
        expect_reason("http://127.0.0.1:2/", NULL, cases[i].word);
        cr_assert_null(strstr(response.reason, "secret"), "%s", response.reason);
    }
}

Test(curl_reasons, a_server_is_not_taken_for_a_proxy_however_its_host_is_written)
{
    static const char *const hosts[] = {"[::1]",     "[0:0:0:0:0:0:0:1]", "127.1",
                                        "LOCALHOST", "[fe80::1%25lo]",    "user:secret@127.0.0.1"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://%s:1/", hosts[i]);
        expect_reason(url, NULL, "nothing accepts a connection there");
    }
}

Test(curl_reasons, a_url_that_is_none_says_so)
{
    expect_reason("http://pool.example.org:port/", NULL, "the URL is not valid");
}

static void serve_nothing(int connection)
{
    raw_read_head(connection);
    for (;;) {
        raw_rest_ms(1000);
    }
}

Test(curl_reasons, a_silent_server_says_so)
{
    struct http_server server;
    raw_server_start(&server, serve_nothing);
    const char *reason = reason_of(server.url, NULL, 200);
    cr_assert_not_null(strstr(reason, "no complete answer came in time"), "%s", reason);
    raw_server_stop(&server);
}

/* ---- TLS ---- */

struct tls_server {
    pid_t process;
    char url[64];
};

static void run(const char *command)
{
    const pid_t child = child_fork();
    int status = -1;
    if (child == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0, "%s", command);
}

/* A certificate of its own authority, with these subject names, that ends in `days`. */
static void make_certificate(const char *names, int days)
{
    char command[1024];
    (void)snprintf(command, sizeof command,
                   "exec 2>/dev/null; openssl req -new -newkey ec -pkeyopt "
                   "ec_paramgen_curve:P-256 -nodes -keyout key.pem -subj /CN=test -addext "
                   "subjectAltName=%s -out request.pem && openssl x509 -req -in request.pem "
                   "-signkey key.pem -days %d -copy_extensions copy -out cert.pem",
                   names, days);
    run(command);
}

/* Reads the port that the server chose. */
static void start(struct tls_server *server)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    server->process = child_fork();
    if (server->process == 0) {
        (void)dup2(ends[1], 1);
        (void)close(ends[0]);
        (void)execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert",
                     "cert.pem", "-key", "key.pem", "-www", (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *stream = fdopen(ends[0], "r");
    char line[256];
    unsigned port = 0;
    while (port == 0 && stream && fgets(line, sizeof line, stream)) {
        (void)sscanf(line, "ACCEPT 127.0.0.1:%u", &port);
    }
    cr_assert_neq(port, 0, "openssl s_server did not start");
    (void)snprintf(server->url, sizeof server->url, "https://127.0.0.1:%u/", port);
}

static void stop(const struct tls_server *server)
{
    (void)kill(server->process, SIGKILL);
    (void)waitpid(server->process, NULL, 0);
}

static void expect_tls_reason(const char *names, int days, const char *ca_file, const char *word)
{
    struct tls_server server;
    make_certificate(names, days);
    start(&server);
    expect_reason(server.url, ca_file, "its certificate is not trusted");
    expect_reason(server.url, ca_file, word);
    stop(&server);
}

Test(curl_reasons, a_certificate_that_has_expired_says_so)
{
    expect_tls_reason("IP:127.0.0.1", -1, "cert.pem", "has expired");
}

Test(curl_reasons, a_certificate_of_another_host_says_so)
{
    expect_tls_reason("DNS:other.example", 30, "cert.pem", "127.0.0.1");
}

Test(curl_reasons, a_certificate_of_an_unknown_authority_says_so)
{
    expect_tls_reason("IP:127.0.0.1", 30, NULL, "self-signed");
}

static void serve_http(int connection)
{
    char block[512];
    (void)!read(connection, block, sizeof block);
    (void)raw_say(connection, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    raw_hear_out(connection);
}

Test(curl_reasons, a_server_without_tls_says_so)
{
    struct http_server server;
    char url[128];
    raw_server_start(&server, serve_http);
    (void)snprintf(url, sizeof url, "https%s/", server.url + strlen("http"));
    expect_reason(url, NULL, "the TLS handshake failed");
    raw_server_stop(&server);
}
