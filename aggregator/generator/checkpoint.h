/* Checkpoints: all parts of a training run in one file, written atomically.
 *
 *     "DPOTGCP1" | fingerprint (32) | parts: length (8, little-endian), bytes | BLAKE2b-256 of all
 *     before
 *
 * The fingerprint covers everything that determines a run (options, pool, version); a checkpoint of
 * another run is refused as a whole. Numbers are in native byte order: a checkpoint can move
 * between machines of one byte order, and continues to the same bits on processors of one kind. */
#ifndef DPOT_GENERATOR_CHECKPOINT_H
#define DPOT_GENERATOR_CHECKPOINT_H

#include "base/crypto.h"
#include "base/error.h"
#include "solve/learn/generator_train.h"

/* DPOT_ERR_IO, with path and reason: the previous checkpoint, if any, is unchanged. */
DPOT_WARN_UNUSED dpot_status checkpoint_write(const char *path,
                                              const uint8_t fingerprint[DPOT_HASH_LEN],
                                              struct generator_train *train,
                                              struct dpot_error *error);

/* Restores a run created with the same options that has done no step. After a failure the run must
 * not be used.
 * DPOT_ERR_NOT_FOUND: no checkpoint. DPOT_ERR_SHAPE: of another run. DPOT_ERR_CORRUPT: truncated or
 * altered. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status checkpoint_read(const char *path,
                                             const uint8_t fingerprint[DPOT_HASH_LEN],
                                             struct generator_train *train,
                                             struct dpot_error *error);

#endif
