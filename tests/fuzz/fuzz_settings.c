/* device.conf, which enroll writes for the other commands. */
#include "fuzz.h"
#include "settings.h"
#include "support/filesystem.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct test_filesystem files;
    struct settings settings, again;
    struct dpot_error error = {""};
    test_filesystem_init(&files, 1);
    test_filesystem_put(&files, SETTINGS_NAME, data, len);
    if (settings_read(&settings, &files.filesystem, &error) == DPOT_OK) {
        require(settings_write(&settings, &files.filesystem, &error) == DPOT_OK);
        require(settings_read(&again, &files.filesystem, &error) == DPOT_OK);
        require(strcmp(settings.server, again.server) == 0 && settings.n_groups == again.n_groups &&
                settings.group_before == again.group_before &&
                memcmp(settings.groups, again.groups, sizeof settings.groups) == 0);
    } else {
        require(error.text[0] != '\0');
    }
    test_filesystem_release(&files);
    return 0;
}
