/* dpot_client_cancel from another thread, under the thread sanitizer, while enrolling waits for a
 * server that never answers. */
#include "simulation.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { N_ROUNDS = 200 };

static dpot_status wait_until_cancelled(void *ctx, const struct dpot_http_request *request,
                                        struct dpot_http_response *response)
{
    (void)ctx;
    (void)response;
    while (!request->is_cancelled(request->canceller)) {
    }
    return DPOT_ERR_NETWORK;
}

static void *cancel(void *client)
{
    dpot_client_cancel(client);
    return NULL;
}

/* True when the enrolling ended by the cancel. */
static bool enroll_once(dpot_client *client)
{
    static const uint8_t campaign_id[16] = {1};
    pthread_t thread;
    if (pthread_create(&thread, NULL, cancel, client) != 0) {
        return false;
    }
    const dpot_status status = dpot_client_enroll(client, campaign_id);
    (void)pthread_join(thread, NULL);
    return status == DPOT_ERR_NETWORK;
}

int main(void)
{
    const struct dpot_transport transport = {.struct_size = sizeof transport,
                                             .perform = wait_until_cancelled};
    struct dpot_client_config config;
    struct dpot_filesystem *files = NULL;
    dpot_client *client = NULL;
    int n_cancelled = 0;
    dpot_client_config_init(&config, sizeof config);
    memset(config.pin, 1, sizeof config.pin);
    config.server_url = "https://pool.example.org";
    config.campaign_epsilon_cap = config.window_epsilon_cap = config.lifetime_epsilon_cap = 1;
    config.window_seconds = 1;
    config.transport = &transport;
    if (dpot_filesystem_memory_new(NULL, &files) == DPOT_OK) {
        config.filesystem = files;
        if (dpot_client_open(&config, &client, NULL, 0) == DPOT_OK) {
            while (n_cancelled < N_ROUNDS && enroll_once(client)) {
                n_cancelled++;
            }
        }
    }
    dpot_client_close(client);
    dpot_filesystem_memory_free(files);
    (void)printf("%d of %d cancelled\n", n_cancelled, (int)N_ROUNDS);
    return n_cancelled == N_ROUNDS ? 0 : 1;
}
