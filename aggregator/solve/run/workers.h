/* A loop over independent items on several threads. */
#ifndef DPOT_SOLVE_RUN_WORKERS_H
#define DPOT_SOLVE_RUN_WORKERS_H

#include "base/error.h"
#include "solve/run/control.h"

/* Works on item `item`; `worker` < n_workers numbers the thread, so that each may have a workspace
 * of its own. A failure ends the loop. */
typedef dpot_status (*workers_item)(void *ctx, size_t worker, size_t item,
                                    struct dpot_error *error);

/* Items are handed out in order. Returns the first failure with its sentence, after every thread
 * has ended. With one worker everything runs on the calling thread. Of `control` (NULL is allowed)
 * only `progress` is used; it is called on any thread, by one at a time. */
DPOT_WARN_UNUSED dpot_status workers_run(size_t n_items, size_t n_workers, workers_item work,
                                         void *ctx, const struct solve_control *control,
                                         struct dpot_error *error);

#endif
