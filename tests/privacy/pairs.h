/* Two devices side by side that differ in their data only: the same folder, clock, random stream
 * and answers, several campaigns of all mechanisms. All lines of their recorders
 * (tool/audit/recorder.h) must be equal. */
#ifndef DPOT_TESTS_PRIVACY_PAIRS_H
#define DPOT_TESTS_PRIVACY_PAIRS_H

#include "audit/subject.h"
#include "tool/audit/scripted_device.h"
#include "unit/client/world.h"

#define PAIRS_CAMPAIGNS_MAX 16
#define PAIRS_POINTS_MAX 3000
#define PAIRS_DOMAIN_MAX 3000 /* points of a histogram's domain */
#define PAIRS_ROUND_MS SUBJECT_ROUND_MS

/* Data of one device, and the memory of it. */
struct pairs_data {
    struct scripted_device_data data;
    double points[PAIRS_POINTS_MAX * SUBJECT_DIM_MAX / 8];
    double weights[PAIRS_POINTS_MAX];
    double histogram[PAIRS_DOMAIN_MAX];
};

struct pairs {
    struct authority authority; /* its keys */
    struct seal_secret seal_secret;
    struct dpot_transport server;
    size_t n_campaigns;
    struct subject subjects[PAIRS_CAMPAIGNS_MAX];
    struct dpot_buf signed_campaigns[PAIRS_CAMPAIGNS_MAX];
    struct dpot_client_config config;
    struct scripted_device device[2];
    struct pairs_data data[2];
    int said;        /* a file that receives standard output and error meanwhile */
    int standard[2]; /* the original ones */
    uint64_t random; /* for data and script, never for a device */
    size_t n_pairs;  /* submits compared */
};

/* Makes the campaigns of the subjects with these names (NULL ends the list), of `rounds` rounds;
 * after pairs_open the devices are enrolled in them and open. `config` may be changed before
 * pairs_open. */
void pairs_init(struct pairs *p, const char *const *names, uint32_t rounds, uint64_t seed);
void pairs_open(struct pairs *p);
void pairs_release(struct pairs *p); /* and asserts that nothing was printed; allowed twice */

/* Fails the test if the devices differ; clears the lines compared. */
void pairs_compare(struct pairs *p);

/* Sets both clocks, never back. */
void pairs_set_clock(struct pairs *p, int64_t now_ms);
int64_t pairs_opens(const struct pairs *p, uint32_t round);

/* Both submit to campaign i, each with new random data of its own. The work of one takes nearly all
 * of its public work time, that of the other none. */
void pairs_submit(struct pairs *p, size_t i);

void pairs_set_answer(struct pairs *p, struct scripted_device_answer answer);
void pairs_pump(struct pairs *p);   /* now */
void pairs_send(struct pairs *p);   /* at all times when something is due */
void pairs_status(struct pairs *p); /* of every campaign */
void pairs_state(struct pairs *p);  /* the statements to their owners */
void pairs_restart(struct pairs *p);

#endif
