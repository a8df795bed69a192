#include "generator/checkpoint.h"

#include "files/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "DPOTGCP1"
#define MAGIC_LEN 8
#define LENGTH_LEN 8

static void encode_length(size_t n, uint8_t out[LENGTH_LEN])
{
    for (size_t k = 0; k < LENGTH_LEN; k++) {
        out[k] = (uint8_t)((uint64_t)n >> (8 * k));
    }
}

static void put(struct output *output, struct dpot_hasher *hasher, const void *data, size_t len)
{
    dpot_hasher_add(hasher, data, len);
    (void)fwrite(data, 1, len, output->stream); /* commit checks ferror */
}

dpot_status checkpoint_write(const char *path, const uint8_t fingerprint[DPOT_HASH_LEN],
                             struct generator_train *train, struct dpot_error *error)
{
    struct generator_part parts[GENERATOR_PARTS];
    struct dpot_hasher hasher;
    struct output output;
    uint8_t digest[DPOT_HASH_LEN];
    const dpot_status status = output_open(path, &output, error);
    if (status != DPOT_OK) {
        return status;
    }
    generator_train_parts(train, parts);
    dpot_hasher_init(&hasher);
    put(&output, &hasher, MAGIC, MAGIC_LEN);
    put(&output, &hasher, fingerprint, DPOT_HASH_LEN);
    for (size_t k = 0; k < GENERATOR_PARTS; k++) {
        uint8_t length[LENGTH_LEN];
        encode_length(parts[k].n_bytes, length);
        put(&output, &hasher, length, sizeof length);
        put(&output, &hasher, parts[k].data, parts[k].n_bytes);
    }
    dpot_hasher_end(&hasher, digest);
    (void)fwrite(digest, 1, sizeof digest, output.stream);
    return output_commit(&output, error);
}

struct source {
    const char *path;
    FILE *stream;
    struct dpot_hasher hasher;
};

static dpot_status take(struct source *source, void *data, size_t len, struct dpot_error *error)
{
    if (fread(data, 1, len, source->stream) != len) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "%s: the checkpoint ends early: remove it and start again",
                              source->path);
    }
    dpot_hasher_add(&source->hasher, data, len);
    return DPOT_OK;
}

static dpot_status read_head(struct source *source, const uint8_t fingerprint[DPOT_HASH_LEN],
                             struct dpot_error *error)
{
    char magic[MAGIC_LEN];
    uint8_t found[DPOT_HASH_LEN];
    dpot_status status = take(source, magic, sizeof magic, error);
    if (status == DPOT_OK && memcmp(magic, MAGIC, MAGIC_LEN) != 0) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT, "%s is not a checkpoint of a generator",
                              source->path);
    }
    if (status == DPOT_OK) {
        status = take(source, found, sizeof found, error);
    }
    if (status == DPOT_OK && memcmp(found, fingerprint, DPOT_HASH_LEN) != 0) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE,
            "%s is the checkpoint of another run (other options, another pool or "
            "another version of dpot): repeat that run's options, or choose another "
            "directory",
            source->path);
    }
    return status;
}

static dpot_status read_part(struct source *source, const struct generator_part *part,
                             struct dpot_error *error)
{
    uint8_t expected[LENGTH_LEN], length[LENGTH_LEN];
    encode_length(part->n_bytes, expected);
    const dpot_status status = take(source, length, sizeof length, error);
    if (status == DPOT_OK && memcmp(length, expected, sizeof length) != 0) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "%s: part %s has another length than this run's: remove it and start "
                              "again",
                              source->path, part->name);
    }
    return status == DPOT_OK ? take(source, part->data, part->n_bytes, error) : status;
}

static dpot_status read_digest(struct source *source, struct dpot_error *error)
{
    uint8_t digest[DPOT_HASH_LEN], found[DPOT_HASH_LEN];
    dpot_hasher_end(&source->hasher, digest);
    if (fread(found, 1, sizeof found, source->stream) != sizeof found ||
        memcmp(found, digest, sizeof found) != 0 || fgetc(source->stream) != EOF) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "%s: the checkpoint is damaged (its checksum does not match): remove "
                              "it and start again",
                              source->path);
    }
    return DPOT_OK;
}

dpot_status checkpoint_read(const char *path, const uint8_t fingerprint[DPOT_HASH_LEN],
                            struct generator_train *train, struct dpot_error *error)
{
    struct generator_part parts[GENERATOR_PARTS];
    struct source source = {.path = path, .stream = fopen(path, "rb")};
    if (!source.stream) {
        return errno == ENOENT
                   ? DPOT_ERR_NOT_FOUND
                   : dpot_error_set(error, DPOT_ERR_IO, "%s: %s", path, strerror(errno));
    }
    generator_train_parts(train, parts);
    dpot_hasher_init(&source.hasher);
    dpot_status status = read_head(&source, fingerprint, error);
    for (size_t k = 0; status == DPOT_OK && k < GENERATOR_PARTS; k++) {
        status = read_part(&source, &parts[k], error);
    }
    if (status == DPOT_OK) {
        status = read_digest(&source, error);
    }
    (void)fclose(source.stream);
    return status == DPOT_OK ? generator_train_resume(train, error) : status;
}
