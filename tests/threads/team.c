/* A team of threads under the thread sanitizer: loops that write what the next loop reads. */
#include "solve/run/team.h"

#include <stdio.h>

enum { N = 64, N_LOOPS = 20000 };

struct shift {
    long from[N], to[N];
};

static void move(void *ctx, size_t task)
{
    struct shift *shift = ctx;
    shift->to[task] = shift->from[(task + 1) % N] + 1;
}

int main(void)
{
    struct shift shift = {{0}, {0}};
    struct team *team;
    long sum = 0;
    if (team_new(4, &team) != DPOT_OK) {
        (void)fputs("no team\n", stderr);
        return 1;
    }
    for (int loop = 0; loop < N_LOOPS; loop++) {
        team_run(team, N, move, &shift);
        for (size_t i = 0; i < N; i++) {
            shift.from[i] = shift.to[i];
        }
    }
    team_free(team);
    for (size_t i = 0; i < N; i++) {
        sum += shift.from[i];
    }
    (void)printf("%d loops, sum %ld\n", N_LOOPS, sum);
    return sum == (long)N * N_LOOPS ? 0 : 1;
}
