/* Pages of aggregator/doc: a number on a page must agree with the code's table. */
#ifndef DPOT_TESTS_AGGREGATOR_PAGE_H
#define DPOT_TESTS_AGGREGATOR_PAGE_H

#include <jansson.h>

#define PAGE(name) DPOT_TEST_DATA "/../aggregator/doc/" name

/* The text from the first `from` to the next `to` (NULL: to the end), until the next call. */
const char *page_section(const char *path, const char *from, const char *to);

/* Every parameter is in the text as `key`, and its number, or null, before the next backtick. */
void page_expect_parameters(const char *text, const json_t *parameters);

#endif
