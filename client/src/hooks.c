#include "hooks.h"

#include "arguments.h"
#include "base/clock.h"

#include <stdbool.h>

static dpot_status check_function(bool is_there, const char *hook, const char *function,
                                  struct dpot_error *error)
{
    return is_there ? DPOT_OK
                    : dpot_error_set(error, DPOT_ERR_ARGUMENT, "%s.%s is NULL: give that function",
                                     hook, function);
}

dpot_status dpot_hooks_check_filesystem(const struct dpot_filesystem *filesystem, const char *name,
                                        struct dpot_error *error)
{
    const struct dpot_filesystem *fs = filesystem;
    dpot_status status =
        dpot_struct_check(fs, offsetof(struct dpot_filesystem, explain), sizeof *fs, name, error);
    if (status != DPOT_OK) {
        return status;
    }
    const struct {
        bool is_there;
        const char *function;
    } members[] = {
        {fs->open != NULL, "open"},         {fs->close != NULL, "close"},
        {fs->size != NULL, "size"},         {fs->read_at != NULL, "read_at"},
        {fs->write_at != NULL, "write_at"}, {fs->truncate != NULL, "truncate"},
        {fs->sync != NULL, "sync"},         {fs->sync_directory != NULL, "sync_directory"},
        {fs->rename != NULL, "rename"},     {fs->remove != NULL, "remove"},
        {fs->lock != NULL, "lock"},         {fs->unlock != NULL, "unlock"},
    };
    for (size_t i = 0; status == DPOT_OK && i < sizeof members / sizeof members[0]; i++) {
        status = check_function(members[i].is_there, name, members[i].function, error);
    }
    return status;
}

static dpot_status check_transport(const struct dpot_transport *transport, struct dpot_error *error)
{
    const dpot_status status = dpot_struct_check(transport, sizeof *transport, sizeof *transport,
                                                 "config.transport", error);
    return status == DPOT_OK
               ? check_function(transport->perform != NULL, "config.transport", "perform", error)
               : status;
}

static dpot_status check_clock(const struct dpot_clock *clock, struct dpot_error *error)
{
    dpot_status status = dpot_struct_check(clock, offsetof(struct dpot_clock, monotonic),
                                           sizeof *clock, "config.clock", error);
    if (status == DPOT_OK) {
        status = check_function(clock->now != NULL, "config.clock", "now", error);
    }
    return status == DPOT_OK && !DPOT_WITH_POSIX
               ? check_function(dpot_clock_is_steady(clock), "config.clock", "monotonic", error)
               : status;
}

static dpot_status check_counter(const struct dpot_counter *counter, struct dpot_error *error)
{
    const dpot_status status =
        dpot_struct_check(counter, sizeof *counter, sizeof *counter, "config.counter", error);
    return status != DPOT_OK || !counter->read == !counter->advance
               ? status
               : dpot_error_set(error, DPOT_ERR_ARGUMENT,
                                "config.counter has one function of two: give read and advance, or "
                                "neither");
}

dpot_status dpot_hooks_check(const struct dpot_client_config *config, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    if (config->allocator) {
        status =
            check_function(config->allocator->resize != NULL, "config.allocator", "resize", error);
    }
    if (status == DPOT_OK && config->filesystem) {
        status = dpot_hooks_check_filesystem(config->filesystem, "config.filesystem", error);
    }
    if (status == DPOT_OK && config->transport) {
        status = check_transport(config->transport, error);
    }
    if (status == DPOT_OK && config->clock) {
        status = check_clock(config->clock, error);
    } else if (status == DPOT_OK && !DPOT_WITH_POSIX) {
        status = dpot_error_set(error, DPOT_ERR_ARGUMENT,
                                "config.clock is NULL, and this libdpot was built without POSIX: "
                                "give a clock of yours");
    }
    if (status == DPOT_OK && config->counter) {
        status = check_counter(config->counter, error);
    }
    return status;
}
