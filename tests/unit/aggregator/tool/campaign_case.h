/* The campaign of the tests: a ring of 12 positions, as SPEC.json. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_TOOL_CAMPAIGN_CASE_H
#define DPOT_TESTS_UNIT_AGGREGATOR_TOOL_CAMPAIGN_CASE_H

#define CAMPAIGN_SPEC(simulation)                                                                  \
    "{\"name\":\"ring\",\"domain\":{\"type\":\"ring\",\"size\":12},\"output\":\"same\","           \
    "\"metric\":\"ring\",\"power\":1,\"mechanism\":{\"type\":\"wpm\",\"epsilon\":2,"               \
    "\"lambda\":0.2,\"iterations\":40,\"base_measure\":\"uniform\",\"n_max\":8},\"rounds\":3,"     \
    "\"opens\":\"2026-12-01T00:00:00Z\",\"closes\":\"2026-12-08T00:00:00Z\",\"min_pool\":20,"      \
    "\"simulation\":" simulation "}"

/* The same over a grid of 2 x 3 places, between two latitudes. */
#define EARTH_SPEC(south, north)                                                                   \
    "{\"name\":\"earth\",\"domain\":{\"type\":\"grid\",\"lo\":[" south ",0],\"hi\":[" north        \
    ",20],\"shape\":[2,3]},\"output\":\"same\",\"metric\":\"haversine\",\"power\":1,"              \
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":2,\"lambda\":100,\"iterations\":40,"              \
    "\"base_measure\":\"uniform\",\"n_max\":8},\"rounds\":3,"                                      \
    "\"opens\":\"2026-12-01T00:00:00Z\",\"closes\":\"2026-12-08T00:00:00Z\",\"min_pool\":20}"

#endif
