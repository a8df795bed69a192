/* The campaigns of the tests of dpot plan, as SPECs. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_TOOL_PLAN_CASE_H
#define DPOT_TESTS_UNIT_AGGREGATOR_TOOL_PLAN_CASE_H

#include "process.h"
#include "unit/files/folder.h"

#define PLAN_REST                                                                                  \
    ",\"rounds\":1,\"opens\":\"2026-12-01T00:00:00Z\",\"closes\":\"2026-12-08T00:00:00Z\","        \
    "\"min_pool\":1}"
#define INDEX(domain, metric, mechanism)                                                           \
    "{\"name\":\"plan\",\"domain\":" domain ",\"output\":\"same\",\"metric\":\"" metric            \
    "\",\"power\":1,\"mechanism\":" mechanism PLAN_REST
#define RING "{\"type\":\"ring\",\"size\":10}"
#define KPM(epsilon, more) INDEX(RING, "ring", "{\"type\":\"kpm\",\"epsilon\":" epsilon more "}")
#define VECTOR(domain, mechanism)                                                                  \
    "{\"name\":\"plan\",\"domain\":" domain                                                        \
    ",\"metric\":\"euclidean\",\"power\":1,\"mechanism\":" mechanism PLAN_REST
#define L1_BALL "{\"type\":\"l1_ball\",\"radius\":1,\"dim\":3}"
#define L2_BALL "{\"type\":\"l2_ball\",\"radius\":1,\"dim\":8}"
#define SEGMENT "{\"type\":\"box\",\"lo\":[-1],\"hi\":[1]}"

/* Makes the folder and writes them into it, with two references. */
static inline void plan_write_case(void)
{
    folder_make();
    write_text("kpm.json", KPM("2", ""));
    write_text("first.json", KPM("2", ",\"sample_first\":true"));
    write_text("laplace.json", VECTOR(L1_BALL, "{\"type\":\"laplace\",\"epsilon\":2}"));
    write_text("gaussian.json",
               VECTOR(L2_BALL, "{\"type\":\"gaussian\",\"epsilon\":2,\"delta\":1e-6}"));
    write_text("segment.json", VECTOR(SEGMENT, "{\"type\":\"laplace\",\"epsilon\":2}"));
    write_text("dirac.csv", "0\n0\n0\n1\n0\n0\n0\n0\n0\n0\n");
    write_text("devices.csv", "7,0,1\n9,3,1\n9,4,3\n5,4,1\n");
}

#endif
