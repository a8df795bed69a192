#include "http/listen.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

Test(listen, addresses_are_host_and_port)
{
    static const char *const good[] = {"127.0.0.1:8080", "localhost:0", "[::1]:65535",
                                       "0.0.0.0:80"};
    static const char *const bad[] = {
        "",         "8080",   ":8080", "127.0.0.1",     "127.0.0.1:", "host:65536",  "host:-1",
        "host:80x", "::1:80", "[]:80", "host:00000080", "host:8 0",   "host:000080", "host:123456"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_assert_eq(listen_check(good[i], NULL), DPOT_OK, "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct dpot_error error = {{0}};
        cr_assert_eq(listen_check(bad[i], &error), DPOT_ERR_MALFORMED, "%s", bad[i]);
        cr_assert_not_null(strstr(error.text, "HOST:PORT"));
    }
}

Test(listen, port_0_takes_a_free_one_and_tells_it)
{
    char url[LISTEN_URL_SIZE];
    struct dpot_error error = {{0}};
    int fd = -1;
    cr_assert_eq(listen_open("127.0.0.1:0", &fd, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(listen_url(fd, false, url, &error), DPOT_OK);
    cr_assert_eq(strncmp(url, "http://127.0.0.1:", 17), 0);
    cr_assert_neq(url[17], '0');
    cr_assert(listen_is_loopback(fd));
    (void)close(fd);
}

Test(listen, a_port_in_use_is_refused_with_a_remedy)
{
    char url[LISTEN_URL_SIZE];
    struct dpot_error error = {{0}};
    int first = -1, second = -1;
    cr_assert_eq(listen_open("127.0.0.1:0", &first, &error), DPOT_OK);
    cr_assert_eq(listen_url(first, false, url, &error), DPOT_OK);
    cr_assert_eq(listen_open(url + 7, &second, &error), DPOT_ERR_IO);
    cr_assert_eq(second, -1);
    cr_assert_not_null(strstr(error.text, "choose another port"), "%s", error.text);
    (void)close(first);
}

Test(listen, an_unknown_host_is_refused)
{
    struct dpot_error error = {{0}};
    int fd = 0;
    cr_assert_eq(listen_open("256.256.256.256:80", &fd, &error), DPOT_ERR_IO);
    cr_assert_eq(fd, -1);
}
