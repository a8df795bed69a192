#include "http/tokens.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[FIXTURE_PATH_SIZE];
static char path[FIXTURE_PATH_SIZE];

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    fixture_folder(folder);
    fixture_path(path, folder, "tokens");
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(tokens, .init = set_up, .fini = tear_down);

Test(tokens, a_token_is_found_by_its_hash)
{
    struct tokens tokens;
    char text[512] = "# admins\n\n", line[200];
    tokens_format("alice", "secret-a", line, sizeof line);
    memcpy(text + strlen(text), line, strlen(line) + 1);
    tokens_format("bob", "secret-b", line, sizeof line);
    memcpy(text + strlen(text), line, strlen(line) + 1);
    cr_assert_null(strstr(text, "secret"));
    fixture_write(path, text);
    cr_assert_eq(tokens_read(path, &tokens, NULL), DPOT_OK);
    cr_assert_eq(tokens.n, 2);
    cr_assert_str_eq(tokens_find(&tokens, "secret-b")->name, "bob");
    cr_assert_null(tokens_find(&tokens, "secret-c"));
    cr_assert_null(tokens_find(&tokens, ""));
    cr_assert_null(tokens_find(&tokens, "secret-b "));
}

Test(tokens, a_token_that_is_absurdly_long_is_nobodys)
{
    const struct tokens tokens = {.n = 0};
    char *text = calloc(1, 100000);
    cr_assert_not_null(text);
    memset(text, 'a', 99999);
    cr_assert_null(tokens_find(&tokens, text));
    free(text);
}

static void refuse(const char *text, const char *word)
{
    struct tokens tokens;
    struct dpot_error error = {{0}};
    fixture_write(path, text);
    cr_assert_eq(tokens_read(path, &tokens, &error), DPOT_ERR_MALFORMED);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "line 2"), "%s", error.text);
}

Test(tokens, a_bad_line_is_refused_by_its_number)
{
    refuse("# fine\nalice\n", "a name, a space");
    refuse("# fine\nalice 1234\n", "64 hex digits");
    refuse("# fine\n alice\n", "a name, a space");
    refuse("# fine\nalice zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\n",
           "64 hex digits");
}

Test(tokens, a_token_may_be_for_the_metrics_alone)
{
    struct tokens tokens;
    char text[512] = "", line[200];
    tokens_format("prometheus", "secret-p", line, sizeof line);
    (void)snprintf(text, sizeof text, "%.*s metrics\n%s", (int)strlen(line) - 1, line, line);
    fixture_write(path, text);
    cr_assert_eq(tokens_read(path, &tokens, NULL), DPOT_OK);
    cr_assert_eq(tokens.n, 2);
    cr_assert(tokens.entries[0].is_for_metrics);
    cr_assert_not(tokens.entries[1].is_for_metrics);
    (void)snprintf(text, sizeof text, "\n%.*s pools\n", (int)strlen(line) - 1, line);
    refuse(text, "the word metrics");
}

Test(tokens, a_missing_file_is_refused)
{
    struct tokens tokens;
    struct dpot_error error = {{0}};
    cr_assert_eq(tokens_read("/nonexistent/tokens", &tokens, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, "/nonexistent/tokens"));
}
