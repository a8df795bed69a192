/* The example of libdpot.3 is client/doc/example.c, word for word, and that one is compiled against
 * the shared library and run here. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX 65536

static void read_text(const char *name, char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/../client/doc/%s", DPOT_TEST_DATA, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
    cr_assert_eq(fclose(file), 0);
}

/* Undoes the escapes of a manual page, in place. */
static void undo_escapes(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\\' && from[1] == '&') {
            from++;
        } else {
            *to++ = *from;
            from += from[0] == '\\' && from[1] == 'e';
        }
    }
    *to = '\0';
}

Test(example, the_manual_page_holds_the_program_that_is_compiled_here)
{
    static char page[TEXT_MAX], program[TEXT_MAX];
    read_text("libdpot.3", page);
    read_text("example.c", program);
    undo_escapes(page);
    cr_assert_not_null(strstr(page, program));
}

Test(example, the_program_says_how_it_is_used)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        (void)close(2);
        (void)execl(DPOT_TEST_BIN "/dpot_example", "dpot_example", (char *)NULL);
        _exit(127);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), 2);
}
