#include "arguments.h"

#include "client.h"

#include <string.h>

bool dpot_struct_has_unknown(const void *data, size_t struct_size, size_t known)
{
    const unsigned char *bytes = data;
    unsigned char any = struct_size > DPOT_STRUCT_SIZE_MAX;
    for (size_t i = known; !any && i < struct_size; i++) {
        any |= bytes[i];
    }
    return any != 0;
}

dpot_status dpot_client_refuse(dpot_client *client, const char *sentence)
{
    return client ? dpot_error_set(&client->error, DPOT_ERR_ARGUMENT, "%s", sentence)
                  : DPOT_ERR_ARGUMENT;
}

dpot_status dpot_client_require(dpot_client *client, const void *pointer, const char *name)
{
    if (!client || pointer) {
        return client ? DPOT_OK : DPOT_ERR_ARGUMENT;
    }
    return dpot_error_set(&client->error, DPOT_ERR_ARGUMENT, "%s is NULL: give it", name);
}

dpot_status dpot_client_check_filled(dpot_client *client, void *data, size_t known,
                                     const char *name)
{
    size_t struct_size = 0;
    const dpot_status status = dpot_client_require(client, data, name);
    if (status != DPOT_OK) {
        return status;
    }
    memcpy(&struct_size, data, sizeof struct_size);
    if (struct_size < sizeof struct_size || struct_size > DPOT_STRUCT_SIZE_MAX) {
        return dpot_error_set(&client->error, DPOT_ERR_ARGUMENT,
                              "%s->struct_size is %zu: set it to sizeof of yours before the call",
                              name, struct_size);
    }
    if (struct_size > known) {
        memset((unsigned char *)data + known, 0, struct_size - known);
    }
    return DPOT_OK;
}
