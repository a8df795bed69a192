/* The server's files: dpotd.json, tokens, and key files. The first byte chooses. */
#include "dpotd/config.h"
#include "fuzz.h"
#include "http/tokens.h"
#include "input_file.h"
#include "keys/keys.h"

#include <string.h>

static const uint8_t signing_key[] =
    "secret_key 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a\n";

static void read_config(const uint8_t *data, size_t len)
{
    struct config config;
    struct dpot_error error = {""};
    const dpot_status status = config_read(input_file("dpotd.json", data, len), &config, &error);
    require(status == DPOT_OK || error.text[0] != '\0');
}

static void read_tokens(const uint8_t *data, size_t len)
{
    struct tokens tokens;
    struct dpot_error error = {""};
    const dpot_status status = tokens_read(input_file("tokens", data, len), &tokens, &error);
    require(status == DPOT_OK || error.text[0] != '\0');
    require(tokens.n <= TOKENS_MAX && !tokens_find(&tokens, "not one of them"));
}

static void read_keys(const uint8_t *signing, size_t signing_len, const uint8_t *seal,
                      size_t seal_len)
{
    struct server_keys keys;
    struct dpot_error error = {""};
    (void)input_file("signing.key", signing, signing_len);
    (void)input_file("seal-0123456789abcdef.key", seal, seal_len);
    const dpot_status status = server_keys_read(input_path(""), &keys, &error);
    require(status == DPOT_OK ? keys.n_seal_secrets == 1 : error.text[0] != '\0');
    server_keys_wipe(&keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0) {
        return 0;
    }
    switch (data[0] % 4) {
    case 0:
        read_config(data + 1, len - 1);
        break;
    case 1:
        read_tokens(data + 1, len - 1);
        break;
    case 2:
        read_keys(data + 1, len - 1, signing_key, 0);
        break;
    default:
        read_keys(signing_key, sizeof signing_key - 1, data + 1, len - 1);
        break;
    }
    return 0;
}
