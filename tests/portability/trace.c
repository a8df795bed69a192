/* Runs the integer core on many secrets with the same public values, between two marks that show in
 * an emulator's trace; trace.sh compares the paths. It needs no library, so that it also runs as
 * built for a Cortex-M.
 *
 * Not traced is what may take variable time: the number of trials of a draw (which is independent
 * of its value) and, on processors without doubles, the two floating-point operations of
 * dpot_quantize_round, which this file replaces. */
#include "mechanism/noise.h"
#include "mechanism/quantize.h"
#include "mechanism/sampler.h"
#include "portability.h"

#ifndef N_SECRETS
#define N_SECRETS 1000
#endif
#define DIM 5

/* The marks. A segment is what runs between them; `name` is read from the symbol. */
#define MARK(name)                                                                                 \
    __attribute__((noinline)) void name(void);                                                     \
    void name(void)                                                                                \
    {                                                                                              \
        __asm__ volatile("");                                                                      \
    }
MARK(begin_laplace)
MARK(begin_gaussian)
MARK(begin_round_to_grid)
MARK(begin_box)
MARK(begin_l1_ball)
MARK(begin_l2_ball)
MARK(begin_clamp)
MARK(begin_weights)
MARK(begin_draw)
MARK(begin_twin)
MARK(end_segment)

static struct inputs inputs = {6};
static uint64_t lower[DIM], upper[DIM], fallback[DIM];
static int64_t side_lo = -1000, side_hi = 1000;

static double double_of(uint64_t bits)
{
    const union {
        uint64_t bits;
        double value;
    } both = {bits};
    return both.value;
}

static void trace_trials(void)
{
    uint8_t bytes[DPOT_NOISE_TRIAL_LEN];
    for (unsigned i = 0; i < N_SECRETS; i++) {
        for (size_t j = 0; j < sizeof bytes; j++) {
            const uint8_t any = (uint8_t)inputs_next(&inputs);
            bytes[j] = i < 40 && j / 8 == i % 4 ? (i % 8 < 4 ? 0 : 0xff) : any;
        }
        begin_laplace();
        (void)dpot_noise_try(DPOT_NOISE_LAPLACE, 14, bytes);
        end_segment();
        begin_gaussian();
        (void)dpot_noise_try(DPOT_NOISE_GAUSSIAN, 14, bytes);
        end_segment();
    }
}

static uint64_t any_double_bits(void)
{
    const uint64_t bits = inputs_next(&inputs), kind = inputs_next(&inputs) % 4;
    const uint64_t exponent = 1010 + inputs_next(&inputs) % 60;
    return kind == 0   ? bits
           : kind == 1 ? bits & (UINT64_C(0xfff) << 52)
                       : (bits >> 12 | exponent << 52);
}

static void trace_quantize(void)
{
    double x[DIM];
    int64_t z[DIM];
    struct dpot_vector_domain box = {.set = DPOT_VECTOR_BOX, .dim = DIM, .n_sides = 1};
    const struct dpot_vector_domain l1 = {.set = DPOT_VECTOR_L1_BALL, .dim = DIM, .radius = 70000};
    const struct dpot_vector_domain l2 = {.set = DPOT_VECTOR_L2_BALL, .dim = DIM, .radius = 70000};
    box.lo = &side_lo;
    box.hi = &side_hi;
    for (unsigned i = 0; i < N_SECRETS; i++) {
        const unsigned bits = 1 + i % 40;
        for (size_t j = 0; j < DIM; j++) {
            x[j] = double_of(any_double_bits());
        }
        begin_round_to_grid();
        dpot_quantize_round(8, x, DIM, z);
        end_segment();
        for (size_t j = 0; j < DIM; j++) {
            z[j] = (int64_t)inputs_of_bits(&inputs, bits) * (j % 2 ? -1 : 1);
        }
        begin_box();
        dpot_quantize_enforce(&box, z);
        end_segment();
        for (size_t j = 0; j < DIM; j++) {
            z[j] = (int64_t)inputs_of_bits(&inputs, bits) * (j % 2 ? 1 : -1);
        }
        begin_clamp();
        dpot_laplace_clamp(8, &box, z);
        end_segment();
        for (size_t j = 0; j < DIM; j++) {
            z[j] = (int64_t)inputs_of_bits(&inputs, bits) * (j == 2 ? -1 : 1);
        }
        begin_l1_ball();
        dpot_quantize_enforce(&l1, z);
        end_segment();
        for (size_t j = 0; j < DIM; j++) {
            z[j] = (int64_t)inputs_of_bits(&inputs, bits) * (j == 2 ? -1 : 1);
        }
        begin_l2_ball();
        dpot_quantize_enforce(&l2, z);
        end_segment();
    }
}

static void trace_sampler(void)
{
    double q[DIM];
    uint64_t weights[DIM];
    for (unsigned i = 0; i < N_SECRETS; i++) {
        const uint64_t random = inputs_next(&inputs);
        for (size_t j = 0; j < DIM; j++) {
            q[j] =
                double_of(i % 5 == 0 ? any_double_bits()
                                     : UINT64_C(0x3f80000000000000) + (inputs_next(&inputs) >> 6));
        }
        begin_weights();
        dpot_weights_round(q, lower, upper, DIM, weights);
        end_segment();
        weights[i % DIM] += i % 7 == 0; /* invalid ones too */
        begin_draw();
        (void)dpot_weights_draw(weights, lower, upper, fallback, DIM, random);
        end_segment();
    }
}

/* Must be caught: a scan that returns when it has found the place. */
static void trace_twin(void)
{
    volatile uint32_t index = 0;
    for (unsigned i = 0; i < N_SECRETS; i++) {
        const uint64_t random = inputs_next(&inputs);
        begin_twin();
        for (size_t j = 0; j < DIM && random >> 2 > (j + 1) * (DPOT_MASS_ONE / DIM); j++) {
            index = (uint32_t)j;
        }
        end_segment();
    }
    (void)index;
}

/* A polytope computed from public numbers without a table or a division. */
static void set_bounds(void)
{
    uint64_t rest = DPOT_MASS_ONE;
    for (size_t j = 0; j < DIM; j++) {
        lower[j] = DPOT_MASS_ONE >> (j + 4);
        upper[j] = DPOT_MASS_ONE >> 1;
        rest -= lower[j];
    }
    for (size_t j = 0; j < DIM; j++) {
        const uint64_t room = upper[j] - lower[j], share = rest < room ? rest : room;
        fallback[j] = lower[j] + share;
        rest -= share;
    }
}

static void trace_all(void)
{
    set_bounds();
    trace_trials();
    trace_quantize();
    trace_sampler();
#ifdef TWIN
    trace_twin();
#else
    (void)trace_twin;
#endif
}

#ifdef __linux__
int main(void)
{
    trace_all();
    return 0;
}
#else

/* Without the C library: functions that the compiler calls, the exit for an emulator of Linux, and
 * stand-ins for software doubles. */
void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    for (size_t i = 0; i < len; i++) {
        out[i] = in[i];
        __asm__ volatile("");
    }
    return to;
}

void *memset(void *to, int value, size_t len)
{
    unsigned char *out = to;
    for (size_t i = 0; i < len; i++) {
        out[i] = (unsigned char)value;
        __asm__ volatile("");
    }
    return to;
}

uint64_t __aeabi_dmul(uint64_t a, uint64_t b);
uint64_t __aeabi_dmul(uint64_t a, uint64_t b)
{
    return a + (b & 1);
}

uint64_t __aeabi_dadd(uint64_t a, uint64_t b);
uint64_t __aeabi_dadd(uint64_t a, uint64_t b)
{
    return a ^ (b & 1);
}

_Noreturn void _start(void);
_Noreturn void _start(void)
{
    register int number __asm__("r7") = 1; /* exit */
    register int status __asm__("r0") = 0;
    trace_all();
    for (;;) {
        number = 1;
        status = 0;
        __asm__ volatile("svc 0" : : "r"(number), "r"(status) : "memory");
    }
}
#endif
