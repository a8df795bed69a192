#include "model/report.h"

#include <stddef.h>

const char *dpot_report_status_name(enum dpot_report_status status)
{
    static const char *const names[DPOT_REPORT_STATUS_END] = {
        [DPOT_REPORT_ACCEPTED] = "accepted",
        [DPOT_REPORT_DUPLICATE] = "duplicate",
        [DPOT_REPORT_REJECTED_MALFORMED] = "rejected_malformed",
        [DPOT_REPORT_REJECTED_RANGE] = "rejected_range",
        [DPOT_REPORT_REJECTED_GROUP] = "rejected_group",
        [DPOT_REPORT_REJECTED_TEST] = "rejected_test",
        [DPOT_REPORT_REJECTED_TOKEN] = "rejected_token",
        [DPOT_REPORT_REJECTED_CLOSED] = "rejected_closed",
    };
    const unsigned number = (unsigned)status;
    return number < DPOT_REPORT_STATUS_END ? names[number] : NULL;
}
