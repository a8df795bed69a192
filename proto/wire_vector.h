/* Vector domains <-> the Vector message, for wire_campaign.c. The one header that shows generated
 * types: only the wire_ files of this room include it. */
#ifndef DPOT_PROTO_WIRE_VECTOR_H
#define DPOT_PROTO_WIRE_VECTOR_H

#include "campaign.pb-c.h"
#include "model/vector.h"

/* A vector domain as protobuf-c sees it. Its arrays are the domain's own; protobuf-c does not write
 * through what it packs. */
struct dpot_vector_message {
    Dpot__V1__Vector vector;
    Dpot__V1__Box box;
    Dpot__V1__Ball ball;
    Dpot__V1__Dct dct;
};

/* DPOT_ERR_ARGUMENT for a set or a transform that has no message. */
DPOT_WARN_UNUSED dpot_status dpot_wire_vector_fill(struct dpot_vector_message *message,
                                                   const struct dpot_vector_domain *vector);

/* Reads what a campaign says; counts are bounded before anything is allocated, the rest is for
 * dpot_vector_domain_check. `vector` is released with its campaign, also after a failure. */
DPOT_WARN_UNUSED dpot_status dpot_wire_vector_read(const Dpot__V1__Vector *message,
                                                   const struct dpot_allocator *allocator,
                                                   struct dpot_vector_domain *vector,
                                                   struct dpot_error *error);

#endif
