/* A store in a folder of the test's own, and what may be done to its file behind its back. */
#ifndef DPOT_STORE_STORE_FILE_H
#define DPOT_STORE_STORE_FILE_H

#include "store/database.h"
#include "unit/aggregator/fixture.h"

#include <sys/types.h>

struct store_file {
    char folder[FIXTURE_PATH_SIZE];
    char path[FIXTURE_PATH_SIZE];     /* of the database */
    char url[FIXTURE_PATH_SIZE + 16]; /* that opens it */
};
extern struct store_file store_file;

void store_file_set_up(void);
void store_file_tear_down(void);

/* Makes it, with nothing in it. */
void store_file_make(void);

/* Runs one statement on the file; no store has it open. */
void store_file_tamper(const char *sql);

/* Makes of it what a program of an older version would have made. */
void store_file_age(int version);

/* Alters one bit of the byte there. */
void store_file_flip(const char *path, off_t at);

/* Adds a job that is done, with these bytes as its artifact. */
void store_file_finish_job(struct store *store, const char *bytes);

#endif
