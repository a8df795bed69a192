/* One sentence about the last failure, for people.
 *
 * Functions that can refuse outside data take a `struct dpot_error *` as their last argument; NULL
 * is allowed. On failure it holds one sentence that names the wrong value and what to do; on
 * success it is unchanged. The sentence NEVER contains device data: no point, weight, noise or
 * report. */
#ifndef DPOT_BASE_ERROR_H
#define DPOT_BASE_ERROR_H

#include "base/compiler.h"
#include "dpot/status.h"

/* The plural s: "%zu report%s", n, DPOT_S(n). */
#define DPOT_S(n) ((n) == 1 ? "" : "s")

/* What to do where a thread is refused. */
#define DPOT_MORE_THREADS                                                                          \
    "allow more threads (ulimit -u, the container's limit) or memory (ulimit -v)"

struct dpot_error {
    char text[400];
};

/* Sets the sentence (cut to fit; control characters of a quoted text become '?') and returns
 * `status`, so that a refusal is one line:
 *     return dpot_error_set(error, DPOT_ERR_RANGE, "epsilon is %g: choose at most 20", e); */
dpot_status dpot_error_set(struct dpot_error *error, dpot_status status, const char *format, ...)
    DPOT_PRINTF(3, 4);

/* Prefixes the sentence, or the text of `status` if there is none, with "context: ". */
dpot_status dpot_error_prefix(struct dpot_error *error, dpot_status status, const char *format, ...)
    DPOT_PRINTF(3, 4);

/* The shortest decimal that reads back as the same double, for a value just beyond a limit:
 * "20.00000000023283" where %g prints 20. Returns `out`. */
#define DPOT_SHORTEST_SIZE 32
const char *dpot_shortest(double value, char out[DPOT_SHORTEST_SIZE]);

#endif
