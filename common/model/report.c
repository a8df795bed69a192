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

uint8_t dpot_loss_class(uint64_t count)
{
    uint8_t loss_class = 0;
    while (count > 0 && loss_class < DPOT_LOSS_CLASSES - 1) {
        count /= 2;
        loss_class++;
    }
    return loss_class;
}

const char *dpot_loss_reason_name(unsigned reason)
{
    static const char *const names[DPOT_LOSS_REASONS] = {"age", "lost", "spool"};
    return reason < DPOT_LOSS_REASONS ? names[reason] : NULL;
}

const char *dpot_loss_class_name(unsigned loss_class)
{
    static const char *const names[DPOT_LOSS_CLASSES] = {"0", "1", "2-3", "4-7", "8+"};
    return loss_class < DPOT_LOSS_CLASSES ? names[loss_class] : NULL;
}
