/* dpot central behaves the same for all records: exit code, stderr and the form of the output. Only
 * released numbers, which have noise, differ. */
#include "../tool/process.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define N 24
#define BOX "--domain {\"type\":\"box\",\"lo\":[0,0],\"hi\":[1,1]} "
#define PAIR "--x data.csv --y other.csv --epsilon 1 " BOX
#define TABLE "--data data.csv --epsilon 1 --out out.csv " BOX
#define LINE                                                                                       \
    "--data data.csv --epsilon 1 --out out.csv "                                                   \
    "--domain {\"type\":\"box\",\"lo\":[0],\"hi\":[1]} --n-samples 9 --adjacency add-remove "      \
    "--depth 4 "
#define NOISY "central barycenter " TABLE "--support 3 --delta 1e-3 --method "

/* For replace-one: the number of records is public and the same in all. */
enum kind {
    SPREAD,
    NEIGHBOUR,
    EQUAL,
    CORNERS,
    TIES,
    ON_A_LINE,
    OUTSIDE,
    FAR,
    TINY,
    NANS,
    INFINITE,
    WORDS,
    NAMES,
    COMMENTS,
    MISSING,
    ENORMOUS,
    RAGGED,
    KINDS
};

static void put_record(FILE *file, enum kind kind, int i)
{
    const double at = i / (N - 1.0);
    switch (kind) {
    case EQUAL:
        (void)fprintf(file, "0.5,0.5\n");
        break;
    case CORNERS:
        (void)fprintf(file, "%d,%d\n", i % 2, i / 2 % 2);
        break;
    case TIES:
        (void)fprintf(file, "%g,%g\n", i % 5 / 4.0, i / 5 % 5 / 4.0);
        break;
    case ON_A_LINE:
        (void)fprintf(file, "%g,%g\n", at, at);
        break;
    case OUTSIDE:
        (void)fprintf(file, "%g,%g\n", 7 - i * 1.0, -at);
        break;
    case FAR:
        (void)fprintf(file, "%s1.7e308,%se307\n", i % 2 ? "-" : "", i % 3 ? "-9" : "9");
        break;
    case TINY:
        (void)fprintf(file, "%s5e-324,-0\n", i % 2 ? "-" : "");
        break;
    case NANS:
        (void)fprintf(file, "%s,nan\n", i % 2 ? "NaN" : "0.5");
        break;
    case INFINITE:
        (void)fprintf(file, "%sinf,-inf\n", i % 2 ? "-" : "");
        break;
    case WORDS:
        (void)fprintf(file, "%s,%s\n", i == 1 ? "0.5" : "ada", i % 3 ? "lovelace" : "\"#1");
        break;
    case NAMES: /* in a public file the first line would be a header */
        (void)fprintf(file, "%s\n", i == 0 ? "ada,lovelace" : "0.5,0.5");
        break;
    case COMMENTS:
        (void)fprintf(file, "%s0.5,0.5\n", i < 2 || i % 3 ? "#" : "");
        break;
    case MISSING:
        (void)fprintf(file, "%s,%s\n", i == 0 || i % 3 ? "0.5" : "", i % 2 ? "" : "NA");
        break;
    case ENORMOUS:
        (void)fprintf(file, "1e99999,-9999999999999999999999%s\n", i % 2 ? "e-99999" : "");
        break;
    case RAGGED: /* the first line states the number of columns */
        (void)fprintf(file, "%s\n", i == 0 ? "0.5,0.5" : i % 2 ? "0.5,0.5,7,8" : "0.5");
        break;
    default:
        (void)fprintf(file, "%.9g,%.9g\n", i * 7 % N / (double)N,
                      kind == NEIGHBOUR && i == 3 ? 0.999 : i * 5 % N / (double)N);
    }
}

static void write_records(const char *name, enum kind kind)
{
    FILE *file = fopen(folder_path(name), "w");
    cr_assert(file);
    for (int i = 0; i < N; i++) {
        put_record(file, kind, i);
    }
    cr_assert(fclose(file) == 0);
}

static void set_up(void)
{
    folder_make();
    write_records("other.csv", SPREAD);
}

TestSuite(central_silence, .init = set_up, .fini = folder_remove);

/* Replaces numbers by 0, which leaves the form. */
static json_t *form_of(const json_t *value)
{
    const char *key = NULL;
    size_t i = 0;
    json_t *member = NULL;
    if (json_is_number(value)) {
        return json_integer(0);
    }
    json_t *form = json_deep_copy(value);
    json_object_foreach((json_t *)value, key, member)
    {
        (void)json_object_set_new(form, key, form_of(member));
    }
    json_array_foreach((json_t *)value, i, member)
    {
        (void)json_array_set_new(form, i, form_of(member));
    }
    return form;
}

struct output {
    int exit_code;
    char err[PROCESS_OUT_MAX];
    json_t *form;
};

static void capture(const char *line, struct output *output)
{
    static struct process p;
    char all[1024];
    (void)snprintf(all, sizeof all, "%s --json", line);
    process_run(&p, all);
    output->exit_code = p.exit_code;
    (void)snprintf(output->err, sizeof output->err, "%s", p.err);
    json_t *result = json_loads(p.out, 0, NULL);
    cr_assert_not_null(result, "%s: %s", line, p.out);
    output->form = form_of(result);
    json_decref(result);
}

static void expect_same(const char *line, const struct output *a, const struct output *b, int kind)
{
    cr_assert_eq(a->exit_code, b->exit_code, "%s: %d: %s%s", line, kind, a->err, b->err);
    cr_assert_str_eq(a->err, b->err, "%s: %d", line, kind);
    cr_assert(json_equal(a->form, b->form), "%s: %d", line, kind);
}

Test(central_silence, no_command_behaves_differently_for_other_records)
{
    static const char *const lines[] = {
        NOISY "noisy-exact",
        NOISY "noisy-exact --iterations 9 --resolution 3",
        NOISY "noisy-agnostic --resolution 2",
        "central coreset " TABLE,
        "central coreset " TABLE "--n-samples 9 --population 100",
        "central ot-cost --metric l1 --exact " PAIR,
        "central ot-cost --metric euclidean --power 2 --lambda 1e-5 " PAIR,
        "central ot-cost --metric linf --lambda 0.003 " PAIR,
        "central ot-cost --metric linf --lambda 1e9 --adjacency replace-pair " PAIR,
        "central transport-map --out map.csv --grid 8x8 --family 9 " PAIR,
    };
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        struct output first, other;
        write_records("data.csv", SPREAD);
        capture(lines[l], &first);
        cr_assert_eq(first.exit_code, 0, "%s: %s", lines[l], first.err);
        for (int kind = NEIGHBOUR; kind < KINDS; kind++) {
            write_records("data.csv", (enum kind)kind);
            capture(lines[l], &other);
            expect_same(lines[l], &first, &other, kind);
            json_decref(other.form);
        }
        json_decref(first.form);
    }
}

/* Warnings and refusals that follow from options are the same for all records. */
Test(central_silence, refusals_of_options_are_the_same_for_all_records)
{
    static const char *const lines[] = {
        NOISY "noisy-exact --epsilon 2",
        NOISY "noisy-exact --resolution 1048576 --init other.csv",
        "central coreset " TABLE "--population 3",
        "central coreset " TABLE "--depth 1",
        "central ot-cost --metric l1 --exact --cost-cap 1e-320 " PAIR,
    };
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        struct output first, other;
        write_records("data.csv", SPREAD);
        capture(lines[l], &first);
        write_records("data.csv", FAR);
        capture(lines[l], &other);
        expect_same(lines[l], &first, &other, FAR);
        json_decref(first.form);
        json_decref(other.form);
    }
}

Test(central_silence, every_line_is_a_record_and_a_header_is_one_less)
{
    static const char *const options[] = {"", "--header ", "--columns 0,1 --header "};
    for (int kind = SPREAD; kind < KINDS; kind++) {
        write_records("data.csv", (enum kind)kind);
        for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
            char line[512];
            (void)snprintf(line, sizeof line, "central coreset %s%s", options[i], TABLE);
            json_t *r = expect_json(line, 0);
            cr_assert_eq(number_of(r, "n"), i == 0 ? N : N - 1, "%s: %d", line, kind);
            json_decref(r);
        }
    }
    json_t *r = expect_json("central ot-cost --metric l1 --exact --header " PAIR, 0);
    cr_assert(number_of(r, "n_x") == N - 1 && number_of(r, "n_y") == N - 1);
    json_decref(r);
}

/* The warning is one a file, and stays with --quiet. */
Test(central_silence, a_warning_says_that_every_line_is_a_record_unless_a_header_is_declared)
{
    static const struct {
        const char *line;
        int n_warnings;
    } cases[] = {
        {"central coreset " TABLE, 1},
        {"central coreset --quiet " TABLE, 1},
        {"central coreset --columns 1,0 " TABLE, 1},
        {"central ot-cost --metric l1 --exact " PAIR, 2},
        {"central coreset --header " TABLE, 0},
        {"central coreset --columns ada,lovelace " TABLE, 0},
        {"central coreset --count-column ada --columns 1 " LINE, 0},
        {"central coreset --data data.csv:ada,lovelace --epsilon 1 --out out.csv " BOX, 0},
        {"central ot-cost --metric l1 --exact --header " PAIR, 0},
    };
    write_records("data.csv", NAMES);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct process p;
        int n_warnings = 0;
        process_run(&p, cases[i].line);
        cr_assert_eq(p.exit_code, 0, "%s: %s", cases[i].line, p.err);
        for (const char *at = p.err; (at = strstr(at, "every line is taken for a record")); at++) {
            n_warnings++;
        }
        cr_assert_eq(n_warnings, cases[i].n_warnings, "%s: %s", cases[i].line, p.err);
        cr_assert_null(strstr(p.err, "lovelace"), "%s", p.err);
    }
}

/* No record, one, two, many; each in a file with a header and in one without. */
Test(central_silence, add_remove_does_not_distinguish_no_record_from_one)
{
    static const char *const rows[] = {"", "0.5,0.5\n", "0,1\n", "0.5,0.5\n3,-4\n1,1\n0,0\n"};
    static const char *const counted[] = {"", "0.5,0.5,0\n", "0,1,1\n", "0,1,4294967296\n1,1,7\n"};
    static const char *const lines[] = {
        "central coreset --adjacency add-remove --depth 4 " TABLE,
        "central coreset --adjacency add-remove --depth 4 --weights-out w.csv " TABLE,
        "central coreset --adjacency add-remove --depth 4 --n-samples 5 --columns 1,0 " TABLE,
        "central coreset --adjacency add-remove --depth 4 --weights-out w.csv --count-column "
        "2 " TABLE,
    };
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        for (int has_names = 0; has_names < 2; has_names++) {
            struct output first, other;
            for (size_t k = 0; k < 4; k++) {
                char text[256], line[512];
                const char *names = has_names ? l == 3 ? "a,b,people\n" : "a,b\n" : "";
                (void)snprintf(text, sizeof text, "%s%s", names, l == 3 ? counted[k] : rows[k]);
                write_text("data.csv", text);
                (void)snprintf(line, sizeof line, "%s%s", lines[l], has_names ? "--header" : "");
                capture(line, k == 0 ? &first : &other);
                cr_assert_eq(first.exit_code, 0, "%s: %s", line, first.err);
                if (k > 0) {
                    expect_same(line, &first, &other, (int)k);
                    json_decref(other.form);
                }
            }
            json_decref(first.form);
        }
    }
}

Test(central_silence, an_empty_npy_is_a_file_without_records_too)
{
    char bytes[129];
    (void)snprintf(
        bytes, sizeof bytes, "%-127s\n",
        "\x93NUMPY\x01?\x76?{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }");
    bytes[7] = bytes[9] = 0;
    (void)folder_write("data.npy", bytes, 128);
    struct output output;
    capture("central coreset --data data.npy --epsilon 1 --adjacency add-remove --depth 2 "
            "--out p.csv " BOX,
            &output);
    cr_assert_eq(output.exit_code, 0, "%s", output.err);
    cr_assert_str_empty(output.err, "a .npy has no line of names");
    json_decref(output.form);
    expect_exit("central coreset --data data.npy --epsilon 1 --out p.csv " BOX, 3, "at least one");
}

/* The number of records is public, so a refusal of 0 records reveals nothing. */
Test(central_silence, replace_one_refuses_a_file_without_records)
{
    write_text("data.csv", "a,b\n");
    expect_exit("central coreset --header " TABLE, 3, "at least one");
    expect_exit("central ot-cost --metric l1 --exact --header " PAIR, 3, "at least one");
    expect_exit(NOISY "noisy-exact --header", 3, "at least one");
}
