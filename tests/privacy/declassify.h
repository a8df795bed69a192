/* Included before noise.c in the constant-time test: tells memcheck what the program makes public
 * (base/compiler.h). */
#ifndef DPOT_TESTS_PRIVACY_DECLASSIFY_H
#define DPOT_TESTS_PRIVACY_DECLASSIFY_H

#include <valgrind/memcheck.h>

#define DPOT_DECLASSIFY(x) ((void)VALGRIND_MAKE_MEM_DEFINED(&(x), sizeof(x)))

#endif
