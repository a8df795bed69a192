/* Put before noise.c when it is compiled for the constant-time test: tells memcheck what the program
 * makes public on purpose (base/compiler.h). */
#ifndef DPOT_TESTS_PRIVACY_DECLASSIFY_H
#define DPOT_TESTS_PRIVACY_DECLASSIFY_H

#include <valgrind/memcheck.h>

#define DPOT_DECLASSIFY(x) ((void)VALGRIND_MAKE_MEM_DEFINED(&(x), sizeof(x)))

#endif
