/* Vector domains <-> the Vector message, for wire_campaign.c. Exposes generated types: private to
 * proto/wire_*.c. */
#ifndef DPOT_PROTO_WIRE_VECTOR_H
#define DPOT_PROTO_WIRE_VECTOR_H

#include "campaign.pb-c.h"
#include "model/vector.h"

/* The message of a vector domain, whose arrays it borrows. */
struct dpot_vector_message {
    Dpot__V1__Vector vector;
    Dpot__V1__Box box;
    Dpot__V1__Ball ball;
    Dpot__V1__Dct dct;
};

/* DPOT_ERR_ARGUMENT: an unknown set or transform. */
DPOT_WARN_UNUSED dpot_status dpot_wire_vector_fill(struct dpot_vector_message *message,
                                                   const struct dpot_vector_domain *vector);

/* Reads a message; counts are bounded before memory is allocated, everything else is left to
 * dpot_vector_domain_check. `vector` is released with its campaign, after a failure, too. */
DPOT_WARN_UNUSED dpot_status dpot_wire_vector_read(const Dpot__V1__Vector *message,
                                                   const struct dpot_allocator *allocator,
                                                   struct dpot_vector_domain *vector,
                                                   struct dpot_error *error);

#endif
