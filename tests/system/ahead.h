/* The clock of devices in system tests: ahead of the wall clock, so that back-off and send delays
 * are over. */
#ifndef DPOT_TESTS_SYSTEM_AHEAD_H
#define DPOT_TESTS_SYSTEM_AHEAD_H

#include "dpot/dpot.h"

extern int64_t ahead_ms;
extern const struct dpot_clock ahead;

#endif
