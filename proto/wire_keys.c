#include "proto/wire_keys.h"

#include "keys.pb-c.h"
#include "proto/message.h"
#include "proto/signed.h"
#include "proto/wire_inner.h"

#include <string.h>

#define WIRE_VERSION 1u
#define MS_PER_S 1000

static const char prefix[] = "dpot.keys.v1"; /* signed with its NUL */

void dpot_seal_key_id(const uint8_t public_key[DPOT_SEAL_PUBLIC_LEN],
                      uint8_t id[DPOT_SEAL_KEY_ID_LEN])
{
    uint8_t hash[DPOT_HASH_LEN];
    dpot_hash(hash, public_key, DPOT_SEAL_PUBLIC_LEN);
    memcpy(id, hash, DPOT_SEAL_KEY_ID_LEN);
}

/* Checked before signing and after parsing. */
static dpot_status check_seal_key(const struct dpot_seal_key *seal_key, size_t i,
                                  struct dpot_error *error)
{
    uint8_t id[DPOT_SEAL_KEY_ID_LEN];
    dpot_seal_key_id(seal_key->public_key, id);
    if (memcmp(id, seal_key->id, sizeof id) != 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the id of seal key %zu does not match its public key", i);
    }
    if (seal_key->not_before_ms % MS_PER_S != 0 || seal_key->not_after_ms % MS_PER_S != 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "seal key %zu is valid from %lld to %lld ms: give whole seconds", i,
                              (long long)seal_key->not_before_ms,
                              (long long)seal_key->not_after_ms);
    }
    if (seal_key->not_before_ms >= seal_key->not_after_ms) {
        return dpot_error_set(
            error, DPOT_ERR_MALFORMED,
            "seal key %zu is valid from %lld to before %lld ms: the window is empty", i,
            (long long)seal_key->not_before_ms, (long long)seal_key->not_after_ms);
    }
    return DPOT_OK;
}

static dpot_status check_count(size_t n, struct dpot_error *error)
{
    if (n > DPOT_SEAL_KEYS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "there are %zu seal keys: at most %d", n,
                              DPOT_SEAL_KEYS_MAX);
    }
    return DPOT_OK;
}

/* The message of keys. */
struct keys_message {
    Dpot__V1__Keys keys;
    Dpot__V1__SealKey seal_keys[DPOT_SEAL_KEYS_MAX];
    Dpot__V1__SealKey *pointers[DPOT_SEAL_KEYS_MAX];
};

static void fill_keys(struct keys_message *message, const struct dpot_keys *keys)
{
    dpot__v1__keys__init(&message->keys);
    message->keys.version = WIRE_VERSION;
    message->keys.n_seal_keys = keys->n_seal_keys;
    message->keys.seal_keys = message->pointers;
    for (size_t i = 0; i < keys->n_seal_keys; i++) {
        const struct dpot_seal_key *key = &keys->seal_keys[i];
        Dpot__V1__SealKey *m = &message->seal_keys[i];
        dpot__v1__seal_key__init(m);
        m->id = (ProtobufCBinaryData){sizeof key->id, (uint8_t *)key->id};
        m->public_key = (ProtobufCBinaryData){sizeof key->public_key, (uint8_t *)key->public_key};
        m->not_before = key->not_before_ms / MS_PER_S;
        m->not_after = key->not_after_ms / MS_PER_S;
        message->pointers[i] = m;
    }
}

dpot_status dpot_wire_keys_encode(const struct dpot_keys *keys, struct dpot_buf *out,
                                  struct dpot_error *error)
{
    dpot_status status = check_count(keys->n_seal_keys, error);
    for (size_t i = 0; i < keys->n_seal_keys && status == DPOT_OK; i++) {
        status = check_seal_key(&keys->seal_keys[i], i, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    struct keys_message message;
    fill_keys(&message, keys);
    status = dpot_message_append(&message.keys.base, out);
    return status == DPOT_OK ? status : dpot_error_set(error, status, "no space for the seal keys");
}

static dpot_status read_seal_key(const Dpot__V1__SealKey *message, size_t i,
                                 struct dpot_seal_key *seal_key, struct dpot_error *error)
{
    if (message->id.len != DPOT_SEAL_KEY_ID_LEN ||
        message->public_key.len != DPOT_SEAL_PUBLIC_LEN) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "seal key %zu has an id of %zu and a key of %zu bytes: they need %d "
                              "and %d",
                              i, message->id.len, message->public_key.len, DPOT_SEAL_KEY_ID_LEN,
                              DPOT_SEAL_PUBLIC_LEN);
    }
    const int64_t most = INT64_MAX / MS_PER_S;
    if (message->not_before < -most || message->not_before > most || message->not_after < -most ||
        message->not_after > most) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "seal key %zu is valid from %lld to %lld seconds since 1970, which "
                              "is out of range",
                              i, (long long)message->not_before, (long long)message->not_after);
    }
    memcpy(seal_key->id, message->id.data, sizeof seal_key->id);
    memcpy(seal_key->public_key, message->public_key.data, sizeof seal_key->public_key);
    seal_key->not_before_ms = message->not_before * MS_PER_S;
    seal_key->not_after_ms = message->not_after * MS_PER_S;
    return check_seal_key(seal_key, i, error);
}

static dpot_status read_keys(const Dpot__V1__Keys *message, struct dpot_keys *keys,
                             struct dpot_error *error)
{
    if (message->version != WIRE_VERSION) {
        return dpot_error_set(error, DPOT_ERR_VERSION,
                              "the keys have version %u, this program knows %u: update it",
                              message->version, WIRE_VERSION);
    }
    dpot_status status = dpot_message_refuse_unknown(&message->base, error);
    if (status == DPOT_OK) {
        status = check_count(message->n_seal_keys, error);
    }
    for (size_t i = 0; i < message->n_seal_keys && status == DPOT_OK; i++) {
        status = read_seal_key(message->seal_keys[i], i, &keys->seal_keys[i], error);
        keys->n_seal_keys = i + 1;
    }
    return status;
}

/* The message is too large for a stack. */
static dpot_status check_canonical(const struct dpot_keys *keys, const void *data, size_t len,
                                   const struct dpot_allocator *allocator, struct dpot_error *error)
{
    struct keys_message *message = dpot_alloc_array(allocator, 1, sizeof *message);
    if (!message) {
        return DPOT_ERR_MEMORY;
    }
    fill_keys(message, keys);
    const bool is_canonical = dpot_message_packs_to(&message->keys.base, data, len);
    dpot_free_array(allocator, message, 1, sizeof *message);
    return is_canonical ? DPOT_OK
                        : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                         "the keys are not in canonical form: encode them again");
}

dpot_status dpot_wire_keys_decode(const void *data, size_t len,
                                  const struct dpot_allocator *allocator, struct dpot_keys *keys,
                                  struct dpot_error *error)
{
    memset(keys, 0, sizeof *keys);
    if (len > DPOT_KEYS_BYTES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "the keys have %zu bytes: at most %u", len,
                              DPOT_KEYS_BYTES_MAX);
    }
    struct dpot_arena arena;
    ProtobufCMessage *base = NULL;
    dpot_arena_init(&arena, DPOT_MESSAGE_CEILING(len), allocator);
    dpot_status status =
        dpot_message_unpack(&dpot__v1__keys__descriptor, data, len, &arena, &base, error);
    if (status == DPOT_OK) {
        status = read_keys((const Dpot__V1__Keys *)base, keys, error);
    }
    if (status == DPOT_OK) {
        status = check_canonical(keys, data, len, allocator, error);
    }
    dpot_arena_release(&arena);
    if (status != DPOT_OK) {
        memset(keys, 0, sizeof *keys);
    }
    return status;
}

static dpot_status append_envelope(struct dpot_signed *envelope, struct dpot_buf *out)
{
    Dpot__V1__SignedKeys message;
    dpot__v1__signed_keys__init(&message);
    message.keys = envelope->content;
    message.key_id = (ProtobufCBinaryData){sizeof envelope->key_id, envelope->key_id};
    message.signature = (ProtobufCBinaryData){sizeof envelope->signature, envelope->signature};
    return dpot_message_append(&message.base, out);
}

dpot_status dpot_wire_keys_sign(const struct dpot_keys *keys,
                                const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                                struct dpot_buf *out, struct dpot_error *error)
{
    struct dpot_buf content;
    struct dpot_signed envelope;
    dpot_buf_init(&content, DPOT_KEYS_BYTES_MAX, out->allocator);
    dpot_status status = dpot_wire_keys_encode(keys, &content, error);
    if (status == DPOT_OK) {
        status = dpot_signed_make(&envelope, content.data, content.len, prefix, sizeof prefix,
                                  secret_key);
    }
    if (status == DPOT_OK) {
        status = append_envelope(&envelope, out);
    }
    dpot_buf_release(&content);
    return status;
}

static dpot_status open_envelope(const void *data, size_t len, const uint8_t *pin,
                                 struct dpot_arena *arena, struct dpot_signed *envelope,
                                 struct dpot_error *error)
{
    ProtobufCMessage *base = NULL;
    dpot_status status =
        dpot_message_unpack(&dpot__v1__signed_keys__descriptor, data, len, arena, &base, error);
    const Dpot__V1__SignedKeys *message = (const Dpot__V1__SignedKeys *)base;
    if (status == DPOT_OK) {
        status = dpot_message_refuse_unknown(base, error);
    }
    if (status == DPOT_OK && !dpot_message_packs_to(base, data, len)) {
        status =
            dpot_error_set(error, DPOT_ERR_MALFORMED, "the signed keys are not in canonical form");
    }
    if (status != DPOT_OK) {
        return status;
    }
    return dpot_signed_check(envelope, &message->keys, &message->key_id, &message->signature,
                             prefix, sizeof prefix, pin, error);
}

dpot_status dpot_wire_keys_open(const void *data, size_t len,
                                const uint8_t pin[DPOT_SIGN_PUBLIC_LEN],
                                const struct dpot_allocator *allocator, struct dpot_keys *keys,
                                struct dpot_error *error)
{
    memset(keys, 0, sizeof *keys);
    if (len > DPOT_KEYS_BYTES_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the signed keys have %zu bytes: at most %u", len,
                              DPOT_KEYS_BYTES_MAX);
    }
    struct dpot_arena arena;
    struct dpot_signed envelope;
    dpot_arena_init(&arena, DPOT_MESSAGE_CEILING(len), allocator);
    dpot_status status = open_envelope(data, len, pin, &arena, &envelope, error);
    if (status == DPOT_OK) {
        status = dpot_wire_keys_decode(envelope.content.data, envelope.content.len, allocator, keys,
                                       error);
    }
    dpot_arena_release(&arena);
    return status;
}

const struct dpot_seal_key *dpot_keys_current(const struct dpot_keys *keys, int64_t time_ms)
{
    const struct dpot_seal_key *current = NULL;
    for (size_t i = 0; i < keys->n_seal_keys; i++) {
        const struct dpot_seal_key *key = &keys->seal_keys[i];
        const bool is_valid = key->not_before_ms <= time_ms && time_ms < key->not_after_ms;
        if (is_valid && (!current || key->not_after_ms > current->not_after_ms)) {
            current = key;
        }
    }
    return current;
}
