#include "tool/shared/options.h"

#include "files/array.h"
#include "tool/shared/conflict.h"

#include <string.h>

#define FLOAT32_ROUNDING 0x1p-24

dpot_status option_check_float32(struct run *run, const char *name, double tol)
{
    return tol >= FLOAT32_ROUNDING
               ? DPOT_OK
               : RUN_USAGE(run,
                           "--%s is %g, and float32 cannot reach it: its sweeps end at about 1e-6, "
                           "leave --float32 out or give a larger --%s",
                           name, tol, name);
}

dpot_status option_output(struct run *run, const char *name, const char **out)
{
    *out = option_text(run, name);
    if (!*out || strcmp(*out, "-") != 0) {
        return *out ? conflict_check(run, name, *out) : DPOT_OK;
    }
    if (run->is_json) {
        return RUN_USAGE(run, "--%s - and --json both write to stdout: name a file", name);
    }
    if (run->writes_stdout) {
        return RUN_USAGE(run, "--%s - is the second output on stdout: name a file", name);
    }
    run->writes_stdout = true;
    return DPOT_OK;
}

dpot_status option_array_output(struct run *run, const char *name, const char **out)
{
    const dpot_status status = option_output(run, name, out);
    if (status != DPOT_OK || !*out || array_can_write(*out)) {
        return status;
    }
    return RUN_USAGE(run, "--%s is %.200s: give a name that ends in .npy or .csv, or - for stdout",
                     name, *out);
}

dpot_status option_require_output(struct run *run, const char *name, const char *what,
                                  const char **out)
{
    const dpot_status status = option_require(run, name, what, out);
    return status == DPOT_OK ? option_output(run, name, out) : status;
}

dpot_status option_require_array_output(struct run *run, const char *name, const char *what,
                                        const char **out)
{
    const dpot_status status = option_require(run, name, what, out);
    return status == DPOT_OK ? option_array_output(run, name, out) : status;
}
