# Faults around the draw, for planted.sh: each function names the tests that must fail (`catchers`)
# and edits the copy of the sources.
faults="charge_after_draw id_by_data refund_on_409 group_by_data due_by_work horizon_by_work
    id_drawn_again retry_with_new_draw random_bytes_by_data sync_by_data sentence_by_data
    padding_by_report charge_by_data order_by_report pause_by_report log_line_by_data
    third_reading refusal_by_data"

# Adds bit() to submit.c: a bit of the data.
give_bit() {
    edit client/src/submit.c '0,/^#include <string.h>/s//#include <stdio.h>\
#include <string.h>\
\
static unsigned bit(const struct dpot_device_data *d)\
{\
    return d->points \&\& d->n > 0 ? d->points[0] > 1 : d->histogram \&\& d->histogram[0] > 0.5;\
}\
/'
}

# after_reading CODE: inserts code after the line that reads and privatises.
after_reading() {
    give_bit
    edit client/src/submit.c "/^    dpot_draft_make(&s->draft/a\\
    $1"
}

plant_charge_after_draw() {
    catchers="first_touch"
    edit client/src/submit.c '/^    charge_durably,/d
        s/^    read_and_privatize,.*/&\
    charge_durably,/'
}

plant_id_by_data() {
    catchers="silence audit"
    after_reading 'uint8_t *last = \&s->draft.report.id[15];\
    *last = (uint8_t)((*last \& 0xfeu) | bit(\&s->data));'
}

plant_refund_on_409() {
    catchers="spent"
    for sum in dpot_ledger_spent_after dpot_ledger_spent_campaign; do
        edit client/src/storage/ledger.c "/^struct dpot_privacy $sum(/,/^}/s/^    for .*/&\\
        if (ledger->charges[i].done == DPOT_DONE_DROPPED_CLOSED) { continue; }/"
    done
}

plant_group_by_data() {
    catchers="silence audit"
    after_reading 's->draft.report.group ^= s->revision.campaign.n_groups > 1 ? bit(\&s->data) : 0;'
}

plant_due_by_work() {
    catchers="silence audit"
    edit client/src/storage/journal.c \
        '/^    dpot_journal_set_due(journal, &journal->spool.slots\[slot\]);/a\
    journal->spool.slots[slot].due_ms =\
        journal->clock->now(journal->clock->ctx) +\
        delay_of(journal, \&journal->spool.slots[slot]);'
}

plant_horizon_by_work() {
    catchers="silence audit"
    edit client/src/submit.c '/^    s->client->n_late +=/i\
    s->client->journal.ledger.horizon_ms = dpot_client_clock(s->client);'
}

plant_id_drawn_again() {
    catchers="first_touch"
    edit client/src/submit.c \
        '/if (slot != SIZE_MAX/s/spool->slots\[slot\].name.has_draws/s->state == DPOT_KEY_NONE/'
}

plant_retry_with_new_draw() {
    catchers="audit"
    edit client/src/uploader.c 's/^    struct dpot_report report = slot->report;/&\
    report.index ^= slot->n_failures > 0;/'
}

plant_random_bytes_by_data() {
    catchers="silence audit"
    after_reading 'if (bit(\&s->data)) {\
        s->client->rng_source->fill(s->client->rng_source->ctx, s->draft.rng.block, 8);\
    }'
}

plant_sync_by_data() {
    catchers="silence"
    after_reading 'const struct dpot_filesystem *fs = s->client->config.filesystem;\
    if (s->data.n > 64) { (void)!fs->sync_directory(fs->ctx); }'
}

plant_sentence_by_data() {
    catchers="silence audit"
    after_reading 'if (bit(\&s->data)) {\
        (void)dpot_error_set(error_of(s), DPOT_OK, "a large number");\
    }'
    edit client/src/client.c '/dpot_client_clear_error(client); .. of attempts/d'
}

plant_padding_by_report() {
    catchers="silence audit"
    edit client/src/uploader.c '/^    memcpy(batch.campaign_hash/a\
    batch.report_len_max += report.index \& 1;'
}

plant_charge_by_data() {
    catchers="silence first_touch audit"
    give_bit
    edit client/src/submit.c '/^    memcpy(charge.campaign_id/a\
    charge.cost.epsilon_q32 += bit(\&s->data);'
}

plant_order_by_report() {
    catchers="silence"
    edit client/src/uploader.c '/^static struct dpot_slot \*find_due/,/^}/s/&spool->slots\[i\];/\
        \&spool->slots[spool->slots[0].report.index % 2 ? spool->n_slots - 1 - i : i];/'
}

plant_pause_by_report() {
    catchers="silence"
    edit client/src/backoff.c \
        '/^    const int64_t wait_ms = /s/draw_ms(client, slot->n_failures)/& \/\
        (slot->report.index % 2 ? 2 : 1)/'
    edit client/src/backoff.c \
        '/^void dpot_backoff_server(/,/^}/s/draw_ms(client, client->n_failures)/& \/\
        (client->journal.spool.slots[0].report.index % 2 ? 2 : 1)/'
}

plant_log_line_by_data() {
    catchers="silence"
    after_reading 'if (bit(\&s->data)) { (void)fputs("a large number\\n", stderr); }'
}

plant_third_reading() {
    catchers="first_touch"
    edit client/src/storage/journal.h 's/^#define DPOT_READINGS_MAX 2/#define DPOT_READINGS_MAX 9/'
}

plant_refusal_by_data() {
    catchers="silence"
    after_reading 'const double *x = s->data.n > 0 ? s->data.points : NULL;\
    if (x \&\& x[0] != x[0]) { return DPOT_ERR_RANGE; }'
}
