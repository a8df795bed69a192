/* Checkpoints: all parts of a training run in one file that appears whole or not at all.
 *
 *     "DPOTGCP1" | fingerprint (32) | parts: length (8, little-endian), bytes | BLAKE2b-256 of all before
 *
 * The fingerprint names what a run is a function of (options, pool, version): a checkpoint of another
 * run is refused, never half used. Numbers are the machine's own: a checkpoint moves between machines of
 * one byte order, and goes on to the same bits on processors of one kind. */
#ifndef DPOT_GENERATOR_CHECKPOINT_H
#define DPOT_GENERATOR_CHECKPOINT_H

#include "base/crypto.h"
#include "base/error.h"
#include "solve/learn/generator_train.h"

/* DPOT_ERR_IO (with path and reason): the checkpoint before, if any, is still there. */
DPOT_WARN_UNUSED dpot_status checkpoint_write(const char *path,
                                              const uint8_t fingerprint[DPOT_HASH_LEN],
                                              struct generator_train *train,
                                              struct dpot_error *error);

/* Reads into a run of the same options that has done no step. DPOT_ERR_NOT_FOUND (there is none),
 * DPOT_ERR_SHAPE (of another run), DPOT_ERR_CORRUPT (truncated or altered), DPOT_ERR_IO. After a failure
 * the run must not be used. */
DPOT_WARN_UNUSED dpot_status checkpoint_read(const char *path,
                                             const uint8_t fingerprint[DPOT_HASH_LEN],
                                             struct generator_train *train,
                                             struct dpot_error *error);

#endif
