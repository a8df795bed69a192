/* dpot-device as scripts see it: real processes, a real folder, a real socket. The fixture of its tests,
 * each of which is a process with its own. */
#ifndef DPOT_CLIENT_TOOL_TOOL_H
#define DPOT_CLIENT_TOOL_TOOL_H

#include "unit/client/http_server.h"
#include "unit/client/world.h"

extern struct authority authority;
extern struct world world; /* the server's half only */
extern struct http_server http;
extern char folder[64], dir[96], campaign[40], pin[80]; /* dir is in folder, beside data.csv */
extern char out[65536], err[65536];                     /* of the last run */

void tool_set_up(void);
void tool_tear_down(void);

/* A server in place of the old one that answers every POST so, with this one status in its receipt;
 * UINT8_MAX: a receipt that is too long; (0, 0): as before. It knows what the authority says now. */
void serve_posts_with(int status, uint8_t receipt);
void start_serving(void); /* after http_server_stop */

/* Runs dpot-device with the arguments and `input` on its standard input; gives the exit code, fills
 * `out` and `err`. No sentence may talk to C programmers. */
int run(const char *input, const char *const *arguments);
#define RUN(input, ...) run(input, (const char *const[]){__VA_ARGS__, NULL})

/* What comes from a descriptor until its end, as text; closes it. */
void read_all(int descriptor, char *text, size_t size);

/* enroll with sound caps and one more option; that and a report of one place. */
int enroll(const char *more);
void report_once(void);

/* Settings of another time: no version, no checksum, and a group, if `more` lines have it, for all
 * campaigns. */
void write_settings_of_before(const char *url, const char *more);

/* Of the JSON object in `out`. */
void assert_json_text(const char *key, const char *expected);
double json_number_of(const char *key);

#endif
