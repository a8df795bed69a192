/* Reports over an event loop: nothing waits for the network. The loop calls on_timer() at the times
 * that set_timer() was given, and on_answer() when an exchange has ended. */
#include <dpot/dpot.h>

#include <stdio.h>

/* Of the app: sends the request, which is valid until on_answer() is called, within timeout_ms;
 * calls on_timer() at due_ms by config.clock, at least a second from now. */
void begin_sending(dpot_client *client, const struct dpot_http_request *request);
void set_timer(dpot_client *client, int64_t due_ms);

/* Called by the loop; `status` 0: no answer came. */
void on_timer(dpot_client *client);
void on_answer(dpot_client *client, int status, uint32_t retry_after_s, const char *content_type,
               const void *body, size_t body_len);

void on_timer(dpot_client *client)
{
    struct dpot_http_request request = {.struct_size = sizeof request};
    struct dpot_pump_result result = {.struct_size = sizeof result};
    if (dpot_client_next_request(client, &request, &result) != DPOT_OK) {
        fprintf(stderr, "%s\n", dpot_client_last_error(client)); /* tried again at next_due_ms */
    }
    if (request.method) {
        begin_sending(client, &request);
    } else {
        set_timer(client, result.next_due_ms);
    }
}

void on_answer(dpot_client *client, int status, uint32_t retry_after_s, const char *content_type,
               const void *body, size_t body_len)
{
    struct dpot_http_response response = {
        .struct_size = sizeof response, .status = status, .retry_after_s = retry_after_s};
    (void)snprintf(response.content_type, sizeof response.content_type, "%s", content_type);
    if (dpot_client_take_response(client, &response, body, body_len, NULL) != DPOT_OK) {
        fprintf(stderr, "%s\n", dpot_client_last_error(client));
    }
    on_timer(client);
}
