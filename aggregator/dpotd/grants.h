/* What the system grants this process: open files, memory, threads. */
#ifndef DPOT_DPOTD_GRANTS_H
#define DPOT_DPOTD_GRANTS_H

#include "dpotd/config.h"

#define GRANTS_NOTES_SIZE 1024

/* Call it before any thread is started. Raises the limit of open files as far as it goes and lowers
 * max_connections, threads, max_body_memory_bytes and job_memory_bytes to what is granted; `notes`
 * has a line for each that was lowered. DPOT_ERR_IO: not even eight connections are possible. */
DPOT_WARN_UNUSED dpot_status grants_fit(struct config *config, char notes[GRANTS_NOTES_SIZE],
                                        struct dpot_error *error);

#endif
