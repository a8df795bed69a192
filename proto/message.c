#include "proto/message.h"

#include <string.h>

/* Not zeroed, as malloc(). */
static void *alloc_in_arena(void *arena, size_t size)
{
    return dpot_arena_take(arena, size);
}

/* The arena frees everything at once. */
static void free_in_arena(void *arena, void *pointer)
{
    (void)arena;
    (void)pointer;
}

dpot_status dpot_message_unpack(const ProtobufCMessageDescriptor *type, const void *data,
                                size_t len, struct dpot_arena *arena, ProtobufCMessage **message,
                                struct dpot_error *error)
{
    ProtobufCAllocator allocator = {alloc_in_arena, free_in_arena, arena};
    *message = protobuf_c_message_unpack(type, &allocator, len, data);
    if (*message) {
        return DPOT_OK;
    }
    if (arena->is_out_of_memory) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for a %s of %zu bytes",
                              type->short_name, len);
    }
    if (arena->is_exhausted) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the %s of %zu bytes needs more than %zu bytes of memory",
                              type->short_name, len, arena->ceiling);
    }
    return dpot_error_set(error, DPOT_ERR_MALFORMED, "the %zu bytes are not a %s", len,
                          type->short_name);
}

static const void *member_at(const ProtobufCMessage *message, unsigned offset)
{
    return (const char *)message + offset;
}

/* The number of messages in `field`, and the first pointer to one. */
static size_t find_messages(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                            const ProtobufCMessage *const **first)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        return 0;
    }
    const void *member = member_at(message, field->offset);
    const void *quantifier = member_at(message, field->quantifier_offset);
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        *first = *(const ProtobufCMessage *const *const *)member;
        return *(const size_t *)quantifier;
    }
    /* The members of a oneof share memory: only the selected one is a pointer. */
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
        *(const uint32_t *)quantifier != field->id) {
        return 0;
    }
    *first = member;
    return **first ? 1 : 0;
}

/* The recursion is as deep as the schema, a few levels, never as the data. */
dpot_status dpot_message_refuse_unknown(const ProtobufCMessage *message, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    if (message->n_unknown_fields > 0) {
        return dpot_error_set(error, DPOT_ERR_VERSION,
                              "%s has field %u, which this version does not know: update it",
                              message->descriptor->short_name, message->unknown_fields[0].tag);
    }
    for (unsigned i = 0; i < message->descriptor->n_fields && status == DPOT_OK; i++) {
        const ProtobufCMessage *const *inner = NULL;
        const size_t n = find_messages(message, &message->descriptor->fields[i], &inner);
        for (size_t j = 0; j < n && status == DPOT_OK; j++) {
            status = dpot_message_refuse_unknown(inner[j], error);
        }
    }
    return status;
}

dpot_status dpot_message_append(const ProtobufCMessage *message, struct dpot_buf *out)
{
    const size_t len = protobuf_c_message_get_packed_size(message);
    const dpot_status status = dpot_buf_reserve(out, len);
    if (status != DPOT_OK) {
        return status;
    }
    if (len > 0) {
        out->len += protobuf_c_message_pack(message, out->data + out->len);
    }
    return DPOT_OK;
}

/* A sink that compares packed bytes with the expected ones. */
struct comparison {
    ProtobufCBuffer base; /* first: protobuf-c passes its address back */
    const uint8_t *expected;
    size_t left;
    bool is_equal;
};

static void compare_piece(ProtobufCBuffer *base, size_t len, const uint8_t *data)
{
    struct comparison *comparison = (struct comparison *)base;
    if (!comparison->is_equal || len > comparison->left) {
        comparison->is_equal = false;
        return;
    }
    if (len > 0) {
        comparison->is_equal = memcmp(comparison->expected, data, len) == 0;
        comparison->expected += len;
        comparison->left -= len;
    }
}

bool dpot_message_packs_to(const ProtobufCMessage *message, const void *data, size_t len)
{
    struct comparison comparison = {{compare_piece}, data, len, true};
    (void)protobuf_c_message_pack_to_buffer(message, &comparison.base);
    return comparison.is_equal && comparison.left == 0;
}
