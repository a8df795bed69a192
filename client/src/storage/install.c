#include "storage/install.h"

#include "base/buf.h"

#include <string.h>

#define MAGIC_LEN 8
#define ID_AT MAGIC_LEN
#define COUNTER_AT (ID_AT + DPOT_INSTALL_ID_LEN)
#define GENERATION_AT (COUNTER_AT + 8)
#define ACCOUNTANT_AT (GENERATION_AT + 8)
#define MAC_AT (DPOT_HEADER_LEN - DPOT_MAC_LEN)

static const uint8_t no_previous[DPOT_MAC_LEN];

void dpot_install_init_key(struct dpot_install *install, const uint8_t *keystore_key,
                           size_t keystore_key_len)
{
    static const char purpose[] = "dpot ledger and spool checksum";
    static const uint8_t fixed[] = "dpot without a keystore key.....";
    if (keystore_key) {
        dpot_hash_keyed(install->key, keystore_key, keystore_key_len, purpose, sizeof purpose);
    } else {
        dpot_hash_keyed(install->key, fixed, sizeof fixed - 1, purpose, sizeof purpose);
    }
}

void dpot_mac(const struct dpot_install *install, const uint8_t previous[DPOT_MAC_LEN],
              const void *data, size_t len, uint8_t out[DPOT_MAC_LEN])
{
    uint8_t message[DPOT_MAC_LEN + 512];
    memcpy(message, previous, DPOT_MAC_LEN);
    memcpy(message + DPOT_MAC_LEN, data, len);
    dpot_hash_keyed(out, install->key, sizeof install->key, message, DPOT_MAC_LEN + len);
}

void dpot_header_encode(const struct dpot_install *install, const char *magic,
                        const struct dpot_header *header, uint8_t out[DPOT_HEADER_LEN])
{
    memset(out, 0, DPOT_HEADER_LEN);
    memcpy(out, magic, MAGIC_LEN);
    memcpy(out + ID_AT, install->id, DPOT_INSTALL_ID_LEN);
    dpot_store_u64(out + COUNTER_AT, header->counter);
    dpot_store_u64(out + GENERATION_AT, header->generation);
    dpot_store_u32(out + ACCOUNTANT_AT, header->accountant);
    dpot_mac(install, no_previous, out, MAC_AT, out + MAC_AT);
}

dpot_status dpot_header_decode(const struct dpot_install *install, const char *magic,
                               const uint8_t in[DPOT_HEADER_LEN], struct dpot_header *header,
                               uint8_t id[DPOT_INSTALL_ID_LEN])
{
    uint8_t mac[DPOT_MAC_LEN];
    dpot_mac(install, no_previous, in, MAC_AT, mac);
    if (memcmp(in, magic, MAGIC_LEN) != 0 || !dpot_secret_equal(mac, in + MAC_AT, sizeof mac)) {
        return DPOT_ERR_CORRUPT;
    }
    memcpy(id, in + ID_AT, DPOT_INSTALL_ID_LEN);
    header->counter = dpot_load_u64(in + COUNTER_AT);
    header->generation = dpot_load_u64(in + GENERATION_AT);
    header->accountant = dpot_load_u32(in + ACCOUNTANT_AT);
    return DPOT_OK;
}
