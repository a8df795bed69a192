/* A campaign as protobuf-c sees it: what wire_campaign.c packs. Like wire_vector.h for the wire_
 * files of this room only. */
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

/* The arrays of the message are the campaign's own: protobuf-c has no const members, but does not
 * write through what it packs. DPOT_ERR_ARGUMENT, DPOT_ERR_TOO_LARGE as
 * dpot_wire_campaign_encode. */
DPOT_WARN_UNUSED dpot_status dpot_wire_campaign_fill(struct dpot_campaign_message *message,
                                                     const struct dpot_campaign *campaign);

#endif
