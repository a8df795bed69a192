#include "arguments.h"

#include "client.h"

#include <string.h>

static size_t size_of(const void *data)
{
    size_t struct_size = 0;
    memcpy(&struct_size, data, sizeof struct_size);
    return struct_size;
}

dpot_status dpot_struct_check(const void *data, size_t least, size_t known, const char *name,
                              struct dpot_error *error)
{
    const unsigned char *bytes = data;
    const size_t struct_size = size_of(data);
    unsigned char any = 0;
    if (struct_size < least || struct_size > DPOT_STRUCT_SIZE_MAX) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "%s.struct_size is %zu: set it to sizeof of yours", name,
                              struct_size);
    }
    for (size_t i = known; i < struct_size; i++) {
        any |= bytes[i];
    }
    return any ? dpot_error_set(error, DPOT_ERR_ARGUMENT,
                                "%s sets members that this libdpot does not know, perhaps caps: "
                                "install the newer libdpot, or leave them 0",
                                name)
               : DPOT_OK;
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
    const dpot_status status = dpot_client_require(client, data, name);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t struct_size = size_of(data);
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
