/* A small team of threads for one solver: many short loops, each shared out and waited for.
 *
 *     struct team *team;
 *     team_new(n_threads, &team);              NULL is a team too: it works on the calling thread
 *     team_run(team, n_blocks, sweep_block, &sweep);
 *     team_free(team);
 *
 * A result must not depend on the number of threads: cut the work into tasks by size, never by
 * thread, and add what the tasks leave in the order of the tasks. One team, one caller at a time;
 * a task must not call team_run. */
#ifndef DPOT_SOLVE_RUN_TEAM_H
#define DPOT_SOLVE_RUN_TEAM_H

#include "dpot/status.h"

#include <stddef.h>

struct team;

/* n_threads >= 1 counts the caller. Fewer threads than asked for, when the system has no more, only
 * take longer. DPOT_ERR_MEMORY leaves *team NULL. */
DPOT_WARN_UNUSED dpot_status team_new(size_t n_threads, struct team **team);

/* NULL is allowed. */
void team_free(struct team *team);

/* Threads that really work, the caller included; 1 for NULL. */
size_t team_size(const struct team *team);

/* Calls work(ctx, task) once for every task < n_tasks, on any thread, and returns when all are
 * done; what they wrote is then visible to the caller. */
void team_run(struct team *team, size_t n_tasks, void (*work)(void *ctx, size_t task), void *ctx);

#endif
