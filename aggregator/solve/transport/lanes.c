#include "solve/transport/lanes.h"

#include <pthread.h>

extern const struct lanes lanes_plain;
#ifdef LANES_X86
extern const struct lanes lanes_avx2, lanes_avx512;
#endif

#define N_MOST 4

static const struct lanes *list[N_MOST];

static void find(void)
{
    size_t n = 0;
#ifdef LANES_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        list[n++] = &lanes_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        list[n++] = &lanes_avx2;
    }
#endif
    list[n] = &lanes_plain;
}

const struct lanes *const *lanes_list(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find);
    return list;
}

const struct lanes *lanes_get(void)
{
    return lanes_list()[0];
}
