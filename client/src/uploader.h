/* The two halves of sending, on which dpot_client_pump is built: for pump.c. */
#ifndef DPOT_CLIENT_UPLOADER_H
#define DPOT_CLIENT_UPLOADER_H

#include "defer.h"

/* Makes the first report in order that is due by `due_ms` the client's exchange, or the keys that
 * it needs; the exchange that is under way, while its time lasts. An answer that waits is filed
 * first. timeout_ms 0: begins nothing. Returns the failures that end a pump, DPOT_ERR_BUSY among
 * them; others are in `upload`. */
DPOT_WARN_UNUSED dpot_status dpot_upload_next(struct upload *upload, int64_t due_ms,
                                              uint32_t timeout_ms);

/* The request of the exchange; borrowed until that ends. */
void dpot_upload_request(const dpot_client *client, struct dpot_http_request *request);

/* Ends the wait for the answer, which is in exchange->failure, or ->answer and ->received. */
void dpot_upload_set_answered(dpot_client *client, dpot_status failure);

/* Files the answer and ends the exchange. DPOT_ERR_BUSY and other failures to take the lock keep
 * it. Returns as dpot_upload_next. */
DPOT_WARN_UNUSED dpot_status dpot_upload_file(struct upload *upload);

/* Ends the exchange without an answer and without a wait. */
void dpot_upload_abandon(dpot_client *client);

/* Frees the exchange; its mark runs out. */
void dpot_upload_drop(dpot_client *client);

/* The end of a call: its first failure, and its result. */
dpot_status dpot_upload_end(struct upload *upload, dpot_status status,
                            struct dpot_pump_result *result);

#endif
