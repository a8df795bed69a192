/* A store in a folder of its own, and changes of its file by others. */
#ifndef DPOT_STORE_STORE_FILE_H
#define DPOT_STORE_STORE_FILE_H

#include "store/database.h"
#include "unit/aggregator/fixture.h"

#include <sys/types.h>

struct store_file {
    char folder[FIXTURE_PATH_SIZE];
    char path[FIXTURE_PATH_SIZE];     /* of the database */
    char url[FIXTURE_PATH_SIZE + 16]; /* of the store */
};
extern struct store_file store_file;

void store_file_set_up(void);
void store_file_tear_down(void);

/* Creates an empty store. */
void store_file_make(void);

/* Runs one statement; no store has the file open. */
void store_file_tamper(const char *sql);

/* Changes the schema back to that of an older version. */
void store_file_age(int version);

/* Flips one bit of the byte at this offset. */
void store_file_flip(const char *path, off_t at);

/* Adds a finished job with these bytes as its artifact. */
void store_file_finish_job(struct store *store, const char *bytes);

#endif
