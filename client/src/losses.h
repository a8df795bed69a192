/* What a report's batch tells of earlier losses, in campaigns that ask for it (loss_counts).
 *
 * Counted are the reports to the same campaign (of the same signer) that came to nothing by age, loss or
 * the spool's cap, with their DONE between two CHARGE records: that of the report itself, and that of the
 * latest one before it that counts at the server or may yet. All of it is in the ledger, so that it is the same at
 * every try and after every restart; and each loss is told by one report at a time: by two only when the
 * first arrived, its answer was lost, and it came to nothing here. What the server has answered
 * (closed, malformed, rejected) and what the user has withdrawn is not told. */
#ifndef DPOT_CLIENT_LOSSES_H
#define DPOT_CLIENT_LOSSES_H

#include "ledger.h"
#include "model/report.h"

/* The classes for the report of the charge at this position. */
struct dpot_losses dpot_losses_before(const struct dpot_ledger *ledger, size_t charge);

#endif
