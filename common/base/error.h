/* One human sentence about the last failure.
 *
 * Functions that can refuse outside data take a `struct dpot_error *` as their last argument (NULL
 * is allowed). On failure it holds one sentence that names the value that was wrong and what to do;
 * on success it is left alone. The sentence NEVER holds device data: no point, weight, noise or
 * report. */
#ifndef DPOT_BASE_ERROR_H
#define DPOT_BASE_ERROR_H

#include "base/compiler.h"
#include "dpot/status.h"

/* "%zu report%s": of one, of many. */
#define DPOT_S(n) ((n) == 1 ? "" : "s")

struct dpot_error {
    char text[400];
};

/* Writes the sentence (cut to fit, no trailing newline) and returns `status`, so that a refusal is
 * one line: `return dpot_error_set(error, DPOT_ERR_RANGE, "epsilon is %g: choose at most 20", e);`
 */
dpot_status dpot_error_set(struct dpot_error *error, dpot_status status, const char *format, ...)
    DPOT_PRINTF(3, 4);

/* The shortest decimal that reads back to the same double, for a sentence about a value just outside
 * of a limit: "20.00000000023283", where %g says 20. Returns `out`. */
#define DPOT_SHORTEST_SIZE 32
const char *dpot_shortest(double value, char out[DPOT_SHORTEST_SIZE]);

/* Puts "context: " before the sentence (or before the status text when there is none yet). */
dpot_status dpot_error_prefix(struct dpot_error *error, dpot_status status, const char *format, ...)
    DPOT_PRINTF(3, 4);

#endif
