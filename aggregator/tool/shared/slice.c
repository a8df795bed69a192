#include "tool/shared/slice.h"

#include "tool/shared/options.h"

#include <string.h>

#define DIGITS_MAX 15

/* Parses digits at *text and advances it; without digits *out is `missing`. False: too many
 * digits. */
static bool take_number(const char **text, size_t missing, size_t *out)
{
    const size_t n_digits = strspn(*text, "0123456789");
    *out = n_digits == 0 ? missing : 0;
    for (size_t i = 0; i < n_digits && n_digits <= DIGITS_MAX; i++) {
        *out = 10 * *out + (size_t)((*text)[i] - '0');
    }
    *text += n_digits;
    return n_digits <= DIGITS_MAX;
}

/* Parses "a:b". */
static bool take_slice(const char **text, size_t n, size_t slice[2])
{
    if (!take_number(text, 0, &slice[0]) || **text != ':') {
        return false;
    }
    (*text)++;
    return take_number(text, n, &slice[1]);
}

static dpot_status check_slice(struct run *run, const char *name, size_t n, const size_t slice[2])
{
    if (slice[0] < slice[1] && slice[1] <= n) {
        return DPOT_OK;
    }
    return dpot_error_set(
        &run->error, DPOT_ERR_RANGE,
        "--%s is %.60s: there are %zu, counted from 0, so that a position is below "
        "%zu and an end at most %zu and above its start",
        name, option_text(run, name), n, n, n);
}

dpot_status slice_read(struct run *run, const char *name, size_t n, size_t slice[2])
{
    const char *text = option_text(run, name);
    if (!text) {
        return DPOT_OK;
    }
    size_t found[2];
    if (!take_slice(&text, n, found) || *text) {
        return RUN_USAGE(run, "--%s is %.60s: give first:end, as in 0:100", name,
                         option_text(run, name));
    }
    const dpot_status status = check_slice(run, name, n, found);
    if (status == DPOT_OK) {
        memcpy(slice, found, sizeof found);
    }
    return status;
}
