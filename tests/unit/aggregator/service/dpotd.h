/* dpotd as an operator runs it: an installation folder, processes with their output, a server and
 * requests to it. Each test runs in its own process. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_SERVICE_DPOTD_H
#define DPOT_TESTS_UNIT_AGGREGATOR_SERVICE_DPOTD_H

#include "unit/aggregator/fixture.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

extern char folder[FIXTURE_PATH_SIZE];
extern char out[8192], err[8192]; /* of the last process that was waited for */

extern rlim_t file_limit;         /* limit of the size of files of the next child, in bytes */
extern rlim_t address_limit;      /* limit of its address space */
extern void (*before_exec)(void); /* called in the next child, when its output is set; or NULL */

void dpotd_set_up(void);
void dpotd_tear_down(void);

/* The path of a file of the folder; valid until the eighth call after it. */
char *in_folder(const char *name);

/* launch starts the program with a NULL-terminated list; the next one waits for its exit code and
 * fills `out` and `err`. */
pid_t launch(char *const *arguments);
int finish(pid_t child);
#define RUN(...) finish(launch((char *[]){(char *)"dpotd", __VA_ARGS__, NULL}))
#define ARG(text) ((char *)(text))

/* Checks that `err` is one sentence of the program that contains the word. */
void expect_sentence(const char *word);

/* dpotd init in the folder; the second one returns the printed token. */
#define TOKEN_SIZE 80
void init(void);
void init_for_token(char token[TOKEN_SIZE]);

/* Serves the folder on a free port and waits until it is ready at `url`. */
pid_t serve(char *url, size_t cap);

/* Sends SIGTERM and checks for exit code 0. */
void stop(pid_t child);

/* The HTTP status of one exchange. */
int status_of(const char *url, const char *method, const char *path, const char *token,
              const char *body);

#endif
