/* A request line: "METHOD PATH?NAME=VALUE", split at spaces and separators; and what an error
 * answer may quote of it. */
#include "fuzz.h"
#include "http/routes.h"
#include "json/json.h"

#include <string.h>

/* Returns the part of *text before `sign`, which is overwritten by NUL; NULL at the end. */
static char *cut(char **text, char sign)
{
    char *part = *text;
    char *end = part ? strchr(part, sign) : NULL;
    *text = end ? end + 1 : NULL;
    if (end) {
        *end = '\0';
    }
    return part;
}

/* Error answers of the admin API are JSON, whatever the message contains. */
static void refuse(const char *path, const char *sentence)
{
    struct http_response response;
    json_t *value = NULL;
    http_response_init(&response);
    http_response_refuse(&response, path, 400, DPOT_ERR_ARGUMENT, sentence);
    require(response.status == 400 && response.body.len > 0);
    if (strncmp(path, "/v1/admin", 9) == 0) {
        require(json_parse(response.body.data, response.body.len, &value, NULL) == DPOT_OK);
        json_decref(value);
    }
    http_response_release(&response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static char line[4096];
    const char *allow = NULL;
    struct dpot_error error = {""};
    if (len >= sizeof line) {
        return 0;
    }
    memcpy(line, data, len);
    line[len] = '\0';
    char *rest = line;
    const char *method = cut(&rest, ' ');
    const char *path = rest ? cut(&rest, '?') : "";
    struct http_request request = {.method = method, .path = path};
    const struct route *route = routes_find(&request, &allow);
    while (route && rest) {
        char *parameter = cut(&rest, '&');
        const char *name = cut(&parameter, '=');
        if (routes_take_query(route, &request, name, parameter, &error) != DPOT_OK) {
            require(error.text[0] != '\0');
            refuse(path, error.text);
        }
    }
    refuse(path, path);
    return 0;
}
