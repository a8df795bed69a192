/* The message of a campaign, which wire_campaign.c packs. Private to proto/wire_*.c. */
#ifndef DPOT_PROTO_WIRE_CAMPAIGN_MESSAGE_H
#define DPOT_PROTO_WIRE_CAMPAIGN_MESSAGE_H

#include "model/campaign.h"
#include "proto/wire_vector.h"

#define DPOT_CAMPAIGN_WIRE_VERSION 1u

struct dpot_domain_message {
    Dpot__V1__Domain domain;
    Dpot__V1__Points points;
    Dpot__V1__Grid grid;
    Dpot__V1__Ring ring;
    Dpot__V1__Sphere sphere;
    Dpot__V1__Directions directions;
};

struct dpot_campaign_message {
    Dpot__V1__Campaign campaign;
    struct dpot_domain_message domain;
    struct dpot_domain_message output;
    union {
        Dpot__V1__Wpm wpm;
        Dpot__V1__Kpm kpm;
        Dpot__V1__Exponential exponential;
        Dpot__V1__Laplace laplace;
        Dpot__V1__Gaussian gaussian;
    } mechanism;
    Dpot__V1__BaseMeasure base_measure; /* index mechanisms */
    struct dpot_vector_message vector;  /* vector mechanisms */
    char *groups[DPOT_GROUPS_MAX];
};

/* Fills the message, whose arrays are the campaign's: protobuf-c has no const members, but does not
 * write to what it packs. DPOT_ERR_ARGUMENT, DPOT_ERR_TOO_LARGE as dpot_wire_campaign_encode. */
DPOT_WARN_UNUSED dpot_status dpot_wire_campaign_fill(struct dpot_campaign_message *message,
                                                     const struct dpot_campaign *campaign);

#endif
