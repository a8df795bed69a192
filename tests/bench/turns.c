#include "turns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE_MAX_LEN 256

static double seconds(clockid_t clock)
{
    struct timespec time;
    (void)clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct turn turn_start(void)
{
    return (struct turn){seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_MONOTONIC)};
}

struct turn turn_since(struct turn start)
{
    const struct turn now = turn_start();
    return (struct turn){now.cpu - start.cpu, now.wall - start.wall};
}

void turn_answer(struct turn turn, double value)
{
    if (isnan(value)) {
        (void)printf("%.6f %.6f -\n", turn.cpu, turn.wall);
    } else {
        (void)printf("%.6f %.6f %.17g\n", turn.cpu, turn.wall, value);
    }
    (void)fflush(stdout);
}

void turn_absent(const char *reason)
{
    (void)printf("absent %s\n", reason);
    (void)fflush(stdout);
}

static size_t split(char *line, char *words[TURN_WORDS + 1])
{
    size_t n = 0;
    for (char *at = line; n < TURN_WORDS;) {
        at += strspn(at, " \n");
        if (!*at) {
            break;
        }
        words[n++] = at;
        at += strcspn(at, " \n");
        if (*at) {
            *at++ = '\0';
        }
    }
    words[n] = NULL;
    return n;
}

void turns_serve(void (*play)(void *ctx, char *const words[TURN_WORDS + 1], size_t n_words),
                 void *ctx)
{
    char line[LINE_MAX_LEN];
    char *words[TURN_WORDS + 1];
    while (fgets(line, sizeof line, stdin)) {
        const size_t n_words = split(line, words);
        if (n_words > 0) {
            play(ctx, words, n_words);
        }
    }
}

void turn_require(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "bench: %s\n", what);
        exit(1);
    }
}

void *turn_memory(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    turn_require(memory != NULL, "out of memory");
    return memory;
}

void turn_write(const char *folder, const char *name, const void *data, size_t n, size_t size)
{
    char path[LINE_MAX_LEN];
    const int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    turn_require(len > 0 && (size_t)len < sizeof path, "the folder's name is too long");
    FILE *file = fopen(path, "wb");
    turn_require(file && fwrite(data, size, n, file) == n && fclose(file) == 0,
                 "the shared folder cannot be written");
}
