/* What the board of a port gives to device.c: a system with memory to spare, unless BOARD_M4. */
#ifndef DPOT_PORTABILITY_BOARD_H
#define DPOT_PORTABILITY_BOARD_H

#include <stddef.h>

#ifdef BOARD_M4
/* Stands for a chip and a network outside of the RAM. */
#define BOARD_FLASH __attribute__((section(".outside")))

/* Fills the unused stack with a pattern; how much was used since. */
void board_paint_stack(void);
size_t board_stack_bytes(void);

int _system(const char *command); /* of librdimon, which newlib's system() does not call */
#define board_run _system
#else
#include <stdlib.h>
#define board_run system
#define BOARD_FLASH
static inline void board_paint_stack(void)
{
}
static inline size_t board_stack_bytes(void)
{
    return 0;
}
#endif

#endif
