/* Fixture of the tests of dpot-device, which run it as scripts do: processes, a folder, a socket.
 * Each test is a process with its own. */
#ifndef DPOT_CLIENT_TOOL_TOOL_H
#define DPOT_CLIENT_TOOL_TOOL_H

#include "unit/client/http_server.h"
#include "unit/client/world.h"

extern struct authority authority;
extern struct world world; /* the server's half only */
extern struct http_server http;
extern char folder[64], dir[96], campaign[40], pin[80]; /* dir is in folder, beside data.csv */
extern char out[65536], err[65536];                     /* of the last run */

void tool_forget_device(void); /* removes the folder `dir` */
void tool_set_up(void);
void tool_tear_down(void);

/* Restarts the server, with what the authority signed last: it answers every POST with this HTTP
 * status and this status in the receipt (UINT8_MAX: a receipt that is too long). (0, 0): as at
 * first. */
void serve_posts_with(int status, uint8_t receipt);
void start_serving(void); /* after http_server_stop */

/* Runs dpot-device with the arguments up to NULL and `input` on its stdin; returns the exit code
 * and fills `out` and `err`. Checks that no sentence uses terms of the C API. */
int run(const char *input, const char *const *arguments);
#define RUN(input, ...) run(input, (const char *const[]){__VA_ARGS__, NULL})

/* Reads a descriptor to its end, as text, and closes it. */
void read_all(int descriptor, char *text, size_t size);

/* Enrolls with valid caps and one more option (NULL: none); enrolls and reports one place. */
int enroll(const char *more);
void report_once(void);

/* Writes settings of older programs: no version, no checksum, and in the lines `more` perhaps one
 * group for all campaigns. */
void write_settings_of_before(const char *url, const char *more);

/* Members of the JSON object in `out`. */
void assert_json_text(const char *key, const char *expected);
double json_number_of(const char *key);

#endif
