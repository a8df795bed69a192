/* golden/central/pmm.json (golden/central/README.md). */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_CENTRAL_GOLDEN_H
#define DPOT_TESTS_UNIT_AGGREGATOR_CENTRAL_GOLDEN_H

#include <jansson.h>

/* The whole file; release with json_decref. */
json_t *golden_pmm(void);

/* Entry i of a list of numbers. */
double golden_at(const json_t *list, size_t i);

#endif
