#include "hooks.h"

#include "arguments.h"

#include <stdbool.h>

#define TOO_SMALL(hook) "config." hook ".struct_size is too small: set it to sizeof of yours"
#define UNKNOWN(hook)                                                                              \
    "config." hook " sets members that this libdpot does not know: install the newer libdpot, or " \
    "leave them 0"
#define IS_NULL(member) "config." member " is NULL: give that function"

const char *dpot_hooks_find_filesystem_mistake(const struct dpot_filesystem *filesystem)
{
    const struct dpot_filesystem *fs = filesystem;
    if (!fs) {
        return NULL;
    }
    if (fs->struct_size < offsetof(struct dpot_filesystem, explain)) {
        return TOO_SMALL("filesystem");
    }
    if (dpot_struct_has_unknown(fs, fs->struct_size, sizeof *fs)) {
        return UNKNOWN("filesystem");
    }
    const struct {
        bool is_there;
        const char *sentence;
    } members[] = {
        {fs->open != NULL, IS_NULL("filesystem.open")},
        {fs->close != NULL, IS_NULL("filesystem.close")},
        {fs->size != NULL, IS_NULL("filesystem.size")},
        {fs->read_at != NULL, IS_NULL("filesystem.read_at")},
        {fs->write_at != NULL, IS_NULL("filesystem.write_at")},
        {fs->truncate != NULL, IS_NULL("filesystem.truncate")},
        {fs->sync != NULL, IS_NULL("filesystem.sync")},
        {fs->sync_directory != NULL, IS_NULL("filesystem.sync_directory")},
        {fs->rename != NULL, IS_NULL("filesystem.rename")},
        {fs->remove != NULL, IS_NULL("filesystem.remove")},
        {fs->lock != NULL, IS_NULL("filesystem.lock")},
        {fs->unlock != NULL, IS_NULL("filesystem.unlock")},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!members[i].is_there) {
            return members[i].sentence;
        }
    }
    return NULL;
}

static const char *find_transport_mistake(const struct dpot_transport *transport)
{
    if (!transport) {
        return NULL;
    }
    if (transport->struct_size < sizeof *transport) {
        return TOO_SMALL("transport");
    }
    if (dpot_struct_has_unknown(transport, transport->struct_size, sizeof *transport)) {
        return UNKNOWN("transport");
    }
    return transport->perform ? NULL : IS_NULL("transport.perform");
}

static const char *find_clock_mistake(const struct dpot_clock *clock)
{
    if (!clock) {
        return NULL;
    }
    if (clock->struct_size < sizeof *clock) {
        return TOO_SMALL("clock");
    }
    if (dpot_struct_has_unknown(clock, clock->struct_size, sizeof *clock)) {
        return UNKNOWN("clock");
    }
    return clock->now ? NULL : IS_NULL("clock.now");
}

static const char *find_counter_mistake(const struct dpot_counter *counter)
{
    if (!counter) {
        return NULL;
    }
    if (counter->struct_size < sizeof *counter) {
        return TOO_SMALL("counter");
    }
    if (dpot_struct_has_unknown(counter, counter->struct_size, sizeof *counter)) {
        return UNKNOWN("counter");
    }
    return !counter->read == !counter->advance
               ? NULL
               : "config.counter has one function of two: give read and advance, or neither";
}

const char *dpot_hooks_find_mistake(const struct dpot_client_config *config)
{
    const char *mistakes[] = {
        config->allocator && !config->allocator->resize ? IS_NULL("allocator.resize") : NULL,
        dpot_hooks_find_filesystem_mistake(config->filesystem),
        find_transport_mistake(config->transport),
        find_clock_mistake(config->clock),
        find_counter_mistake(config->counter),
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        if (mistakes[i]) {
            return mistakes[i];
        }
    }
    return NULL;
}
