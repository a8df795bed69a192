/* Our side of a comparison with peers: a program that answers lines. turns.sh queries it and the
 * peers' program (peers_*.py) in turns, so that other work on the machine affects both equally.
 *
 *   request   NAME ARGUMENT...
 *   answer    CPU_SECONDS WALL_SECONDS VALUE     equal values: both sides did the same work
 *             absent REASON                      the case does not exist here */
#ifndef DPOT_BENCH_TURNS_H
#define DPOT_BENCH_TURNS_H

#include <stddef.h>

#define TURN_WORDS 6

/* Processor time of this process, and wall time. */
struct turn {
    double cpu, wall;
};

struct turn turn_start(void);
struct turn turn_since(struct turn start);

/* Answers one request; NAN: without a value, "-". */
void turn_answer(struct turn turn, double value);
void turn_absent(const char *reason);

/* Reads requests until the end of standard input; words[n_words] is NULL. */
void turns_serve(void (*play)(void *ctx, char *const words[TURN_WORDS + 1], size_t n_words),
                 void *ctx);

/* Ends the program with a sentence unless `holds`. */
void turn_require(int holds, const char *what);

/* Zeroed memory, and a file of `n` numbers of `size` bytes in the folder that both sides share. */
void *turn_memory(size_t n, size_t size);
void turn_write(const char *folder, const char *name, const void *data, size_t n, size_t size);

#endif
