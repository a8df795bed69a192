/* The operator's page and the compiler's tables have the same keys, ranges, words and defaults. */
#include "campaign/spec_fields.h"
#include "unit/aggregator/page.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PAGE_PATH PAGE("campaign-spec.md")
#define CELL_SIZE 200

/* How the columns "value" and "default" begin; "": not checked. */
static void write_cells(const struct json_field *field, char value[CELL_SIZE],
                        char otherwise[CELL_SIZE])
{
    const long long min = (long long)field->integer.min, max = (long long)field->integer.max;
    size_t len = 0;
    value[0] = otherwise[0] = '\0';
    if (field->kind == JSON_KIND_INTEGER) {
        (void)snprintf(value, CELL_SIZE,
                       max < 1LL << 53 ? "integer, %lld to %lld" : "integer, at least %lld", min,
                       max);
        if (field->otherwise >= (double)min) {
            (void)snprintf(otherwise, CELL_SIZE, "%.0f |", field->otherwise);
        }
    } else if (field->kind == JSON_KIND_NUMBER && isfinite(field->number.max)) {
        (void)snprintf(value, CELL_SIZE, "number, %g to %g", field->number.min, field->number.max);
        (void)snprintf(otherwise, CELL_SIZE, "%g |", field->otherwise);
    } else if (field->kind == JSON_KIND_NUMBER && field->is_above) {
        (void)snprintf(value, CELL_SIZE, "positive number");
    } else if (field->kind == JSON_KIND_BOOL) {
        (void)snprintf(value, CELL_SIZE, "boolean");
        (void)snprintf(otherwise, CELL_SIZE, "`false` |");
    }
    for (const struct json_word *word = field->words; word && word->name; word++) {
        len += (size_t)snprintf(value + len, CELL_SIZE - len, "%s`\"%s\"`", len > 0 ? ", " : "",
                                word->name);
        if (word->value == (int)field->otherwise) {
            (void)snprintf(otherwise, CELL_SIZE, "`\"%s\"` |", word->name);
        }
    }
    if (field->is_required) {
        (void)snprintf(otherwise, CELL_SIZE, "required");
    }
}

/* Checks the rows of a section that are in the table, and returns their number. */
static int check(const char *from, const char *to, const struct json_field *fields, unsigned bits)
{
    const char *section = page_section(PAGE_PATH, from, to);
    char head[64], value[CELL_SIZE], otherwise[CELL_SIZE];
    int n = 0;
    for (const struct json_field *field = fields; field->key; field++) {
        (void)snprintf(head, sizeof head, "\n| `%s` | ", field->key);
        const char *row = strstr(section, head);
        const char *next = row ? strstr(row + strlen(head), " | ") : NULL;
        if (next && next < strchr(row + 1, '\n') && (!field->only || field->only & bits)) {
            write_cells(field, value, otherwise);
            row += strlen(head);
            cr_assert_eq(strncmp(row, value, strlen(value)), 0, "%s: %s", field->key, value);
            cr_assert_eq(strncmp(next + 3, otherwise, strlen(otherwise)), 0, "%s: %s", field->key,
                         otherwise);
            n++;
        }
    }
    return n;
}

Test(spec_page, every_table_has_the_ranges_and_defaults_of_the_compiler)
{
    cr_assert_eq(check("\n## Top level", "\n## ", spec_fields, SPEC_INDEX), 11);
    cr_assert_eq(check("\n## Mechanism", "\n### The sphere", spec_mechanism_fields,
                       SPEC_INDEX & ~SPEC_SPHERE),
                 9);
    cr_assert_eq(check("\n### The sphere", "\n### Vectors", spec_mechanism_fields, SPEC_SPHERE), 4);
    cr_assert_eq(check("\n### Vectors", "\n## ", spec_mechanism_fields, SPEC_VECTOR), 3);
}

Test(spec_page, every_key_is_on_the_page)
{
    const struct json_field *const tables[] = {spec_fields, spec_mechanism_fields,
                                               spec_place_fields};
    const char *page = page_section(PAGE_PATH, "# ", NULL);
    for (size_t i = 0; i < 3; i++) {
        for (const struct json_field *field = tables[i]; field->key; field++) {
            cr_assert(strstr(page, field->key) || field->kind == JSON_KIND_REFUSED, "%s",
                      field->key);
        }
    }
}
