#include "dpot/status.h"

#include <stddef.h>

struct status_row {
    dpot_status status;
    const char *name;
    const char *text;
};

static const struct status_row table[] = {
#define STATUS_ROW(name, value, text) {value, #name, text},
    DPOT_STATUS_TABLE(STATUS_ROW)
#undef STATUS_ROW
};

static const struct status_row *find_row(dpot_status status)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].status == status) {
            return &table[i];
        }
    }
    return NULL;
}

const char *dpot_status_text(dpot_status status)
{
    const struct status_row *row = find_row(status);
    return row ? row->text : "unknown status";
}

const char *dpot_status_name(dpot_status status)
{
    const struct status_row *row = find_row(status);
    return row ? row->name : "DPOT_ERR_UNKNOWN";
}
