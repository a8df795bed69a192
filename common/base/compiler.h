/* Everything that goes beyond C11, in one place; all other code is plain C11. */
#ifndef DPOT_BASE_COMPILER_H
#define DPOT_BASE_COMPILER_H

#if defined(__GNUC__)
#define DPOT_PRINTF(format_index, first_argument)                                                  \
    __attribute__((format(printf, format_index, first_argument)))
#else
#define DPOT_PRINTF(format_index, first_argument)
#endif

/* Prefetches a cache line. */
#if defined(__GNUC__)
#define DPOT_PREFETCH(address) __builtin_prefetch(address)
#else
#define DPOT_PREFETCH(address) ((void)(address))
#endif

/* Hides a value from the optimizer, so that it cannot turn a masked select into a branch. */
#if defined(__GNUC__)
#define DPOT_HIDE_VALUE(x) __asm__("" : "+r"(x))
#else
#define DPOT_HIDE_VALUE(x) ((void)(x))
#endif

/* 1 in a build with a sanitizer that reports at exit. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DPOT_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define DPOT_IS_SANITIZED 1
#endif
#endif
#ifndef DPOT_IS_SANITIZED
#define DPOT_IS_SANITIZED 0
#endif

/* Defined where a 32 x 32 -> 64 bit product is a library call that branches on its operands: cores
 * such as ARMv6-M multiply 32 bits into 32. */
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1 && !defined(__ARM_ARCH_ISA_ARM)
#define DPOT_NO_MUL64 1
#endif

/* Marks a value derived from secrets as public by design (the accept bit of a noise trial). A
 * no-op; the constant-time test defines it to inform valgrind. */
#ifndef DPOT_DECLASSIFY
#define DPOT_DECLASSIFY(x) ((void)(x))
#endif

#ifdef __FAST_MATH__
#error "dpot relies on IEEE arithmetic: do not compile it with -ffast-math"
#endif

#endif
