/* A network between devices and a server with scripted failures, for system tests.
 *
 *     delivery_network UPSTREAM_FILE URL_FILE CONDUCT[,CONDUCT...]
 *         listens on the loopback, writes its URL to URL_FILE and forwards requests to the server
 *         whose URL is in UPSTREAM_FILE at that moment. Each POST takes the next CONDUCT; the last
 *         one repeats:
 *             pass    the answer is returned
 *             lose    the server gets the request, the device no answer
 *             gone    neither
 *             hold    the server gets the request, its answer is held until the device hangs up
 *             NUMBER  neither: the device gets this HTTP status, with Retry-After: 1
 *     delivery_network get UPSTREAM_FILE PATH
 *         prints what the server answers */
#include "system/relay.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void serve(int device, const struct relay_request *r, const char *upstream_file,
                  const char *conduct)
{
    char nothing;
    if (strcmp(conduct, "gone") == 0) {
        return;
    }
    if (conduct[0] >= '0' && conduct[0] <= '9') {
        relay_tell_status(device, conduct);
        return;
    }
    const int server = relay_pass_on(upstream_file, r);
    if (server < 0) {
        return;
    }
    relay_drain(server, strcmp(conduct, "pass") == 0 ? device : -1);
    if (strcmp(conduct, "hold") == 0) {
        (void)!read(device, &nothing, 1); /* until it hangs up */
    }
    (void)close(server);
}

/* Removes the first word of the list, unless it is the last. */
static void next_conduct(char **list, char *conduct, size_t size)
{
    const size_t len = strcspn(*list, ",");
    (void)snprintf(conduct, size, "%.*s", (int)len, *list);
    *list += (*list)[len] == ',' ? len + 1 : 0;
}

int main(int argc, char **argv)
{
    static struct relay_request r;
    if (argc != 4) {
        fprintf(stderr, "usage: delivery_network UPSTREAM_FILE URL_FILE CONDUCTS\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (strcmp(argv[1], "get") == 0) {
        return relay_get(argv[2], argv[3]) ? 0 : 1;
    }
    char *conducts = argv[3], conduct[32];
    const int listener = relay_listen(argv[2]);
    while (listener >= 0) {
        const int device = accept(listener, NULL, NULL);
        if (relay_receive(device, &r)) {
            if (strncmp(r.head, "POST", 4) == 0) {
                next_conduct(&conducts, conduct, sizeof conduct);
            } else {
                (void)snprintf(conduct, sizeof conduct, "pass");
            }
            serve(device, &r, argv[1], conduct);
        }
        (void)close(device);
    }
    return 1;
}
