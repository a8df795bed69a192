/* The board mps2-an386 of qemu (Cortex-M4): vectors, start, and the stack painted. */
#include "portability/board.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COPROCESSORS (*(volatile uint32_t *)0xe000ed88)
#define STACK_BYTES (32 * 1024)
#define PATTERN 0x5aa5c33cu

extern uint32_t m4_stack; /* its top; of the linker script */
void _start(void);
void m4_reset(void);

__attribute__((noreturn)) void m4_reset(void)
{
    COPROCESSORS |= 0xfu << 20; /* the floating-point unit */
    __asm volatile("dsb\n isb");
    _start();
    for (;;) {
    }
}

static void fault(void)
{
    printf("fault\n");
    exit(3);
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &m4_stack,     (void *)m4_reset, (void *)fault, (void *)fault,
    (void *)fault, (void *)fault,    (void *)fault,
};

static uint32_t *painted, *painted_to;

__attribute__((noinline)) void board_paint_stack(void)
{
    painted_to = (uint32_t *)__builtin_frame_address(0) - 16;
    painted = painted_to - STACK_BYTES / sizeof *painted;
    for (volatile uint32_t *at = painted; at < painted_to; at++) {
        *at = PATTERN;
    }
}

size_t board_stack_bytes(void)
{
    const uint32_t *at = painted;
    while (at < painted_to && *at == PATTERN) {
        at++;
    }
    return (size_t)(painted_to - at) * sizeof *at;
}
