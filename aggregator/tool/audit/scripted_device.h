/* A device whose folder (in memory), clock, random stream and server follow a script, behind a
 * recorder. */
#ifndef DPOT_TOOL_AUDIT_SCRIPTED_DEVICE_H
#define DPOT_TOOL_AUDIT_SCRIPTED_DEVICE_H

#include "base/error.h"
#include "base/rng_seeded.h"
#include "tool/audit/recorder.h"

#define SCRIPTED_DEVICE_WORK_MS 64 /* the public work time of its campaigns */

/* The data of one submit. */
struct scripted_device_data {
    const double *points;  /* (n, dim), or one vector (dim) */
    const double *weights; /* (n) or NULL */
    size_t n;
    uint32_t dim;
    const double *histogram; /* (size) or NULL; when given, the members above are not read */
    size_t size;
    bool is_vector; /* points is one vector, for dpot_client_submit_vector */
};

/* The answer to a POST. */
struct scripted_device_answer {
    int http_status;                 /* 0: none, the network fails */
    enum dpot_report_status receipt; /* of a 202 */
};

struct scripted_device {
    struct dpot_client_config config; /* its hooks are those of the recorder */
    bool has_seed;                    /* its campaigns are marked `simulation` */
    struct recorder recorder;
    struct scripted_device_answer answer;
    dpot_client *client;            /* NULL: closed */
    struct dpot_filesystem *folder; /* owned */
    struct dpot_transport network;
    const struct dpot_transport *server; /* of all requests but POSTs */
    struct dpot_rng_seeded stream;
    struct dpot_rng_source source; /* the stream; without a seed it passes for a device's source */
};

/* Sets up a new device at `now_ms`. `config` holds caps and pin; `server` answers GETs. Borrows all
 * arguments; the struct must not move afterwards. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status scripted_device_init(struct scripted_device *d,
                                                  const struct dpot_client_config *config,
                                                  const struct dpot_transport *server,
                                                  const struct seal_secret *seal_secret,
                                                  int64_t now_ms);
void scripted_device_release(struct scripted_device *d);

/* Sets the random stream that is used from now on. */
void scripted_device_seed(struct scripted_device *d, uint64_t seed, uint64_t stream, bool has_seed);

/* Begin and end a process. */
DPOT_WARN_UNUSED dpot_status scripted_device_open(struct scripted_device *d,
                                                  struct dpot_error *error);
void scripted_device_close(struct scripted_device *d);

/* The calls of the application; every answer is recorded. */
void scripted_device_submit(struct scripted_device *d,
                            const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                            const struct scripted_device_data *data, int64_t work_ms);
void scripted_device_note_submit(struct scripted_device *d, dpot_status status,
                                 enum dpot_submit_outcome outcome);
void scripted_device_pump(struct scripted_device *d);
void scripted_device_note_status(struct scripted_device *d,
                                 const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN]);
void scripted_device_note_statement(struct scripted_device *d);

/* Pumps whenever a sending is due, until none is. */
void scripted_device_send(struct scripted_device *d);

#endif
