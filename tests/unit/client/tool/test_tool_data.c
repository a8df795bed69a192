/* Which data dpot-device accepts, and which it refuses before any charge. */
#include "support/child.h"
#include "unit/client/tool/tool.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(tool_data, .init = tool_set_up, .fini = tool_tear_down);

/* Reports a file with these bytes; returns the exit code. */
static int report_bytes(const void *data, size_t len, const char *kind, const char *more)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, len, file), len);
    cr_assert_eq(fclose(file), 0);
    return RUN(NULL, "report", "--dir", dir, kind, path, "--json", more);
}

static void assert_nothing_is_charged(void)
{
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_eq(json_number_of("submitted"), 0);
}

/* A new device reports these bytes. Exit code, output and charge are those of any number. */
static void assert_is_content(const char *kind, const void *data, size_t len)
{
    tool_forget_device();
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(report_bytes(data, len, kind, NULL), 0, "%.*s: %s", (int)len, (const char *)data,
                 err);
    assert_json_text("outcome", "reported");
    cr_assert_str_empty(err);
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_eq(json_number_of("submitted"), 1);
    cr_assert_eq(json_number_of("spent_epsilon"), 1);
}

Test(tool_data, no_record_decides_whether_a_report_is_made_or_what_is_said)
{
    static const char *const places[] = {
        "3\n",
        "place\n",
        "hello",
        "# 1\n",
        "0x9\n",
        "-\n2\n",
        "NA\n2\n",
        "nan\n",
        "\xE2\x88\x92 33\n",
        "1\nword\n3\n",
        "1\n2,5\n",
        "1\n\n2\n",
        "\"1\n2\n",
        "1\n\"\n2\n",
        "a\x01\n1\n",
        "\xC3\n1\n",
        "\xEF\xBB\xBF 1\n",
        "1 2\n",
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_is_content("--points", places[i], strlen(places[i]));
    }
    assert_is_content("--points", "1\n2\0\n", 5);
}

Test(tool_data, no_entry_of_a_histogram_decides_whether_a_report_is_made)
{
    static const char *const entries[] = {"1", "NA", "word", "\"", "1,5", "\xFF", "# 1", "1e999"};
    const unsigned size = (unsigned)authority.campaign.domain.size;
    for (size_t i = 0; i < 2 * (sizeof entries / sizeof entries[0]); i++) {
        const unsigned n_lines = size + i % 2; /* one more: a header, whatever it is */
        char text[4096] = "";
        size_t len = 0;
        for (unsigned j = 0; j < n_lines; j++) {
            const bool is_odd = j == (i % 2 ? n_lines - 1 : 1);
            len += (size_t)snprintf(text + len, sizeof text - len, "%s\n",
                                    is_odd ? entries[i / 2] : "1");
        }
        assert_is_content("--histogram", text, len);
    }
}

Test(tool_data, only_the_form_of_a_file_is_refused_and_nothing_is_charged)
{
    static const char *const refused[] = {"1,2\n", "1;2\n3\n", "\xFF\xFE\n1\n", "a\tb\n"};
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        cr_assert_eq(report_bytes(refused[i], strlen(refused[i]), "--points", NULL), 3,
                     "%zu: %s %s", i, out, err);
    }
    cr_assert_eq(report_bytes("1\n1\n1\n1\n", 8, "--histogram", NULL), 3, "%s", err);
    cr_assert_not_null(strstr(err, "the histogram has 4 entries"), "%s", err);
    cr_assert_eq(report_bytes("1,1\n", 4, "--histogram", NULL), 3, "%s", err);
    cr_assert_not_null(strstr(err, "a histogram has one column: this file has 2"), "%s", err);
    cr_assert_eq(report_bytes("1\n1\n", 4, "--vector", NULL), 3, "%s", err);
    cr_assert_not_null(strstr(err, "wants places or a histogram"), "%s", err);
    assert_nothing_is_charged();
}

Test(tool_data, columns_are_chosen_and_a_header_of_numbers_is_declared)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(report_bytes("city,place\nParis,3\n", 19, "--points", "--columns=plaze"), 2);
    cr_assert(!strstr(err, "city") && !strstr(err, "Paris"), "%s", err);
    assert_nothing_is_charged();
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--points", path, "--columns", "place"), 0, "%s",
                 err);
    tool_forget_device();
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(report_bytes("0\n3\n", 4, "--points", "--header"), 0, "%s", err);
}

static void assert_reads(const char *text, const char *more)
{
    cr_assert_eq(report_bytes(text, strlen(text), "--points", more), 0, "%s: %s", text, err);
    assert_json_text("outcome", "reported");
}

Test(tool_data, quoted_and_padded_numbers_are_numbers)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    assert_reads(" \"3\" ,\t1\n\"4\", .5 \n\n\n", "--weighted");
}

Test(tool_data, a_header_may_be_quoted_or_a_comment)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    assert_reads("\"place, as a number\",weight\n3,1\n", "--weighted");
}

Test(tool_data, a_number_that_no_double_holds_is_infinite_and_no_refusal)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    assert_reads("# places\n1e999\n-1e999\ninf\nnan\n1e-999\n", NULL);
}

/* Writes the same line into a FIFO until its reader is gone. */
static void assert_endless_is_refused(const char *line, const char *sentence)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    (void)unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    const pid_t writer = child_fork();
    cr_assert_geq(writer, 0);
    if (writer == 0) {
        FILE *file = fopen(path, "w");
        while (file && fputs(line, file) != EOF) {
        }
        _exit(0);
    }
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--points", path), 3);
    cr_assert_not_null(strstr(err, sentence), "%s", err);
    (void)kill(writer, SIGKILL);
    cr_assert_eq(waitpid(writer, NULL, 0), writer);
    assert_nothing_is_charged();
}

Test(tool_data, input_without_end_is_refused_at_the_stated_limit)
{
    char line[4097];
    memset(line, '1', sizeof line);
    for (size_t i = 1; i < sizeof line; i += 2) {
        line[i] = i + 3 < sizeof line ? ',' : '\n';
    }
    line[sizeof line - 2] = '\n';
    line[sizeof line - 1] = '\0';
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    assert_endless_is_refused("1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7\n", "at most 2^24");
    memset(line, '\n', sizeof line - 1);
    assert_endless_is_refused(line, "one empty line too many");
    memset(line, ' ',
           250); /* padded so that the limit of bytes is reached before that of numbers */
    line[249] = '1';
    line[250] = '\n';
    line[251] = '\0';
    assert_endless_is_refused(line, "2^28 bytes");
}

/* A missing report would reveal to the server that the device has no data. */
Test(tool_data, an_empty_histogram_is_a_device_without_data)
{
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN("", "report", "--dir", dir, "--histogram", "-", "--json"), 0, "%s", err);
    assert_json_text("outcome", "reported");
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_eq(json_number_of("spent_epsilon"), 1);
}

Test(tool_data, an_empty_vector_is_a_device_without_data)
{
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    serve_posts_with(0, 0);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--vector", "/dev/null", "--json"), 0, "%s",
                 err);
    assert_json_text("outcome", "reported");
    cr_assert_eq(RUN(NULL, "status", "--dir", dir, "--json"), 0);
    cr_assert_eq(json_number_of("spent_epsilon"), 1);
}

/* A new device reports n numbers after the text `before`. */
static int report_vector(const char *before, unsigned n, char separator)
{
    char text[1024];
    size_t len = (size_t)snprintf(text, sizeof text, "%s", before);
    for (unsigned i = 0; i < n; i++) {
        text[len++] = '1';
        text[len++] = i + 1 < n ? separator : '\n';
    }
    tool_forget_device();
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    return report_bytes(text, len, "--vector", NULL);
}

Test(tool_data, a_vector_has_a_header_if_it_is_one_line_too_long)
{
    char names[VECTOR_DIM + 1] = "";
    memset(names, ',', VECTOR_DIM - 1);
    names[VECTOR_DIM - 1] = '\n';
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    serve_posts_with(0, 0);
    cr_assert_eq(report_vector("", VECTOR_DIM, '\n'), 0, "%s", err);
    cr_assert_eq(report_vector("1e9\n", VECTOR_DIM, '\n'), 0, "%s", err);
    cr_assert_eq(report_vector(names, VECTOR_DIM, ','), 0, "%s", err);
    cr_assert_eq(report_vector("x\ny\n", VECTOR_DIM, '\n'), 3, "%s", err);
    cr_assert_not_null(strstr(err, "the vector has 72 numbers"), "%s", err);
    cr_assert_eq(report_vector("", VECTOR_DIM + 1, ','), 3, "%s", err);
    cr_assert_not_null(strstr(err, "the vector has 71 numbers"), "%s", err);
    assert_nothing_is_charged();
}

Test(tool_data, an_empty_file_of_any_name_is_a_device_without_data)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s-empty.npy", dir);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--histogram", path, "--json"), 0, "%s", err);
    assert_json_text("outcome", "reported");
    (void)remove(path);
}

Test(tool_data, a_vector_on_one_line_may_be_as_long_as_a_vector_can_be)
{
    enum { N = 100000, LEN = 21 };
    char *text = malloc((size_t)N * LEN + 1);
    cr_assert_not_null(text);
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(text + i * LEN, LEN + 1, "%.14e%c", 1 / 3.0, i + 1 < N ? ',' : '\n');
    }
    cr_assert_eq(strlen(text), (size_t)N * LEN);
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_LAPLACE);
    serve_posts_with(0, 0);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(report_bytes(text, (size_t)N * LEN, "--vector", NULL), 3, "%s", err);
    cr_assert_not_null(strstr(err, "has 100000 numbers"), "read whole, then of another length: %s",
                       err);
    free(text);
}

/* Of half precision, by its content and not its name. */
Test(tool_data, an_array_of_numpy_is_data_too)
{
    static const char header[] = "{'descr': '>f2', 'fortran_order': True, 'shape': (2,), }";
    char path[128];
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    (void)fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    (void)fputc(sizeof header - 1, file);
    (void)fputc(0, file);
    (void)fputs(header, file);
    (void)fwrite("\x42\0\x44\0", 1, 4, file); /* 3, 4 */
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(enroll(NULL), 0, "%s", err);
    cr_assert_eq(RUN(NULL, "report", "--dir", dir, "--points", path, "--json"), 0, "%s", err);
    assert_json_text("outcome", "reported");
    cr_assert_eq(unlink(path), 0);
}
