/* The answer to a report, processed: for uploader.c. */
#ifndef DPOT_CLIENT_ANSWERS_H
#define DPOT_CLIENT_ANSWERS_H

#include "defer.h"

/* Does what the table of actions says with the client's exchange, whose report is in `slot`.
 * Returns disk failures only. Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_answer_process(struct upload *upload, struct dpot_slot *slot);

#endif
