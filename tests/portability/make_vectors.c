/* Converts the golden vectors of tests/golden/sampling to a C array of words, against which a
 * program without files and without jansson can check itself (format: golden.h).
 *
 *     make_vectors tests/golden/sampling >vectors.h */
#include "golden.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *file_name = ""; /* for error messages */

static _Noreturn void refuse(const char *what)
{
    (void)fprintf(stderr, "make_vectors: %s: %s\n", file_name, what);
    exit(1);
}

static json_t *load(const char *folder, const char *name)
{
    char path[1024];
    json_error_t error;
    file_name = name;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *root = json_load_file(path, 0, &error);
    if (!root) {
        refuse(error.text);
    }
    return root;
}

static void put(uint64_t word)
{
    (void)printf("    UINT64_C(0x%016" PRIx64 "),\n", word);
}

/* A JSON integer or a decimal string, with or without a sign. */
static uint64_t number_of(const json_t *value)
{
    if (json_is_integer(value)) {
        return (uint64_t)json_integer_value(value);
    }
    const char *text = json_string_value(value);
    char *end = NULL;
    if (!text || *text == '\0') {
        refuse("a number is missing");
    }
    const uint64_t number =
        *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    if (*end != '\0') {
        refuse("this is no number");
    }
    return number;
}

static void put_member(const json_t *object, const char *name)
{
    put(number_of(json_object_get(object, name)));
}

static void put_array(const json_t *object, const char *name)
{
    const json_t *array = json_object_get(object, name);
    for (size_t i = 0; i < json_array_size(array); i++) {
        put(number_of(json_array_get(array, i)));
    }
}

static void put_doubles(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));
        char *end = NULL;
        const double value = text ? strtod(text, &end) : 0;
        uint64_t bits;
        if (!text || *end != '\0') {
            refuse("this is no double");
        }
        memcpy(&bits, &value, sizeof bits);
        put(bits);
    }
}

/* `len` bytes in hex as words, with the first byte of each most significant (big) or least. */
static void put_hex(const json_t *value, size_t len, int is_big)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) != 2 * len) {
        refuse("a string of bytes has another length");
    }
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = 0;
        for (size_t k = 0; k < 8; k++) {
            char digits[3] = {text[2 * (i + k)], text[2 * (i + k) + 1], '\0'};
            char *end = NULL;
            const uint64_t byte = strtoul(digits, &end, 16);
            if (*end != '\0') {
                refuse("this is no hex");
            }
            word |= byte << 8 * (is_big ? 7 - k : k);
        }
        put(word);
    }
}

static void put_base_measure(enum golden_kind kind, const json_t *test_case)
{
    put(kind);
    put_member(test_case, "E_q32");
    put_member(test_case, "T");
    put(json_array_size(json_object_get(test_case, "b")));
    put_array(test_case, "b");
}

static void put_exp_lower(const json_t *root)
{
    for (size_t i = 0; i < json_array_size(root); i++) {
        put(GOLDEN_EXP_LOWER);
        put_member(json_array_get(root, i), "E_q32");
        put_member(json_array_get(root, i), "A_q46");
    }
}

static void put_big(const json_t *test_case)
{
    const json_t *hashes = json_object_get(test_case, "sha256_u64le");
    const char *rule = json_string_value(json_object_get(test_case, "rule"));
    put(GOLDEN_BIG_BOUNDS);
    put_member(test_case, "E_q32");
    put_member(test_case, "T");
    put_member(test_case, "n");
    put(rule && rule[0] == 'b');
    put_hex(json_object_get(hashes, "L"), 32, 1);
    put_hex(json_object_get(hashes, "U"), 32, 1);
    put_hex(json_object_get(hashes, "M"), 32, 1);
}

static void put_bounds(const json_t *root)
{
    const json_t *cases = json_object_get(root, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        put_base_measure(GOLDEN_BOUNDS, json_array_get(cases, i));
        put_array(json_array_get(cases, i), "L");
        put_array(json_array_get(cases, i), "U");
        put_array(json_array_get(cases, i), "M");
    }
    cases = json_object_get(root, "big");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        put_big(json_array_get(cases, i));
    }
    cases = json_object_get(root, "must_reject");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        put_base_measure(GOLDEN_REFUSED, json_array_get(cases, i));
    }
}

static void put_round(const json_t *root)
{
    for (size_t i = 0; i < json_array_size(root); i++) {
        put_base_measure(GOLDEN_ROUND, json_array_get(root, i));
        put_doubles(json_object_get(json_array_get(root, i), "q"));
        put_array(json_array_get(root, i), "W");
    }
}

static void put_draws(const json_t *root)
{
    for (size_t i = 0; i < json_array_size(root); i++) {
        const json_t *test_case = json_array_get(root, i);
        const json_t *draws = json_object_get(test_case, "draws");
        put(GOLDEN_DRAW);
        put(json_array_size(json_object_get(test_case, "W")));
        put_array(test_case, "W");
        put(json_array_size(draws));
        for (size_t j = 0; j < json_array_size(draws); j++) {
            put_hex(json_object_get(json_array_get(draws, j), "bytes_le"), 8, 0);
            put_member(json_array_get(draws, j), "index");
        }
    }
}

static void put_trials(const json_t *root)
{
    for (size_t i = 0; i < json_array_size(root); i++) {
        const json_t *test_case = json_array_get(root, i);
        const json_t *trials = json_object_get(test_case, "trials_bytes_result_pq63");
        const char *mechanism = json_string_value(json_object_get(test_case, "mech"));
        for (size_t j = 0; j < json_array_size(trials); j++) {
            const json_t *trial = json_array_get(trials, j);
            const json_t *value = json_array_get(trial, 1);
            put(GOLDEN_TRIAL);
            put(mechanism && strcmp(mechanism, "laplace") == 0 ? 0 : 1);
            put_member(test_case, "k");
            put_hex(json_array_get(trial, 0), 32, 0);
            put(!json_is_null(value));
            put(json_is_null(value) ? 0 : number_of(value));
            put(number_of(json_array_get(trial, 2)));
        }
    }
}

static void put_certificate(const json_t *root)
{
    static const char *const names[] = {"E_q32", "delta_q64", "mu2_q40", "c", "d_max"};
    for (size_t i = 0; i < json_array_size(root); i++) {
        put(GOLDEN_CERTIFICATE);
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++) {
            put_member(json_array_get(root, i), names[j]);
        }
    }
}

static void put_tables(const json_t *root)
{
    static const char *const names[] = {"laplace_cdt_u128", "gauss_cdt_u128", "exp_u64"};
    static const char *const hashes[] = {"laplace", "gauss", "exp"};
    for (size_t i = 0; i < 3; i++) {
        const json_t *table = json_object_get(root, names[i]);
        put(GOLDEN_TABLE);
        put(i);
        put(json_array_size(table));
        for (size_t j = 0; j < json_array_size(table); j++) {
            put_hex(json_array_get(table, j), i < 2 ? 16 : 8, 1);
        }
        put_hex(json_object_get(json_object_get(root, "sha256_le"), hashes[i]), 32, 1);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*put)(const json_t *root);
    } files[] = {
        {"exp_lower.json", put_exp_lower}, {"wpm_bounds.json", put_bounds},
        {"wpm_round.json", put_round},     {"wpm_draw.json", put_draws},
        {"noise_trials.json", put_trials}, {"gauss_cert.json", put_certificate},
        {"tables.json", put_tables},
    };
    if (argc != 2) {
        (void)fputs("usage: make_vectors tests/golden/sampling >vectors.h\n", stderr);
        return 2;
    }
    (void)puts("/* Made by make_vectors; do not edit. */\n"
               "#include <stdint.h>\n\n"
               "static const uint64_t golden_words[] = {");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        json_t *root = load(argv[1], files[i].name);
        files[i].put(root);
        json_decref(root);
    }
    (void)puts("};");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
