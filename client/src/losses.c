#include "losses.h"

#include <string.h>

static bool is_same_campaign(const struct dpot_charge *a, const struct dpot_charge *b)
{
    return memcmp(a->campaign_id, b->campaign_id, sizeof a->campaign_id) == 0 &&
           memcmp(a->signer, b->signer, sizeof a->signer) == 0;
}

/* True for a report whose batch has told what was lost before it, or will. */
static bool tells(const struct dpot_charge *charge)
{
    return charge->done == DPOT_DONE_NOT_YET || charge->done == DPOT_REPORT_ACCEPTED ||
           charge->done == DPOT_REPORT_DUPLICATE;
}

/* Which loss an end is, or DPOT_LOSS_REASONS. */
static unsigned reason_of(uint8_t done)
{
    switch (done) {
    case DPOT_DONE_DROPPED_AGE:
        return DPOT_LOSS_AGE;
    case DPOT_DONE_DROPPED_LOST:
        return DPOT_LOSS_LOST;
    case DPOT_DONE_DROPPED_SPOOL:
        return DPOT_LOSS_SPOOL;
    default:
        return DPOT_LOSS_REASONS;
    }
}

/* The record after which losses are this report's to tell: 0 is the first CHARGE of all, and no DONE. */
static uint64_t told_until(const struct dpot_ledger *ledger, size_t charge)
{
    for (size_t i = charge; i > 0; i--) {
        const struct dpot_charge *c = &ledger->charges[i - 1];
        if (is_same_campaign(c, &ledger->charges[charge]) && tells(c)) {
            return c->seq;
        }
    }
    return 0;
}

struct dpot_losses dpot_losses_before(const struct dpot_ledger *ledger, size_t charge)
{
    const struct dpot_charge *own = &ledger->charges[charge];
    const uint64_t from_seq = told_until(ledger, charge);
    uint64_t counts[DPOT_LOSS_REASONS] = {0};
    struct dpot_losses losses;
    for (size_t i = 0; i < charge; i++) {
        const struct dpot_charge *c = &ledger->charges[i];
        const unsigned reason = reason_of(c->done);
        if (reason < DPOT_LOSS_REASONS && is_same_campaign(c, own) && c->done_seq > from_seq &&
            c->done_seq < own->seq) {
            counts[reason]++;
        }
    }
    for (unsigned i = 0; i < DPOT_LOSS_REASONS; i++) {
        losses.class_of[i] = dpot_loss_class(counts[i]);
    }
    return losses;
}
