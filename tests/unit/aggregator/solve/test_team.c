#include "solve/run/team.h"

#include <criterion/criterion.h>
#include <stdatomic.h>

enum { N_TASKS = 1000 };

struct tally {
    atomic_int n_calls[N_TASKS];
    int squares[N_TASKS];
};

static void count(void *ctx, size_t task)
{
    struct tally *tally = ctx;
    atomic_fetch_add(&tally->n_calls[task], 1);
    tally->squares[task] = (int)(task * task);
}

static void check_loop(struct team *team, size_t n_tasks)
{
    static struct tally tally;
    for (size_t i = 0; i < N_TASKS; i++) {
        atomic_store(&tally.n_calls[i], 0);
        tally.squares[i] = -1;
    }
    team_run(team, n_tasks, count, &tally);
    for (size_t i = 0; i < N_TASKS; i++) {
        cr_assert_eq(atomic_load(&tally.n_calls[i]), i < n_tasks ? 1 : 0);
        cr_assert_eq(tally.squares[i], i < n_tasks ? (int)(i * i) : -1);
    }
}

Test(team, does_every_task_once_for_any_number_of_threads)
{
    for (size_t n_threads = 1; n_threads <= 5; n_threads++) {
        struct team *team;
        cr_assert_eq(team_new(n_threads, &team), DPOT_OK);
        cr_assert_eq(team_size(team), n_threads);
        for (size_t n_tasks = 0; n_tasks <= N_TASKS; n_tasks = n_tasks * 2 + 1) {
            check_loop(team, n_tasks);
        }
        team_free(team);
    }
}

Test(team, null_is_a_team_on_the_calling_thread)
{
    cr_assert_eq(team_size(NULL), 1);
    check_loop(NULL, 7);
    team_free(NULL);
}

Test(team, many_short_loops_follow_each_other)
{
    struct team *team;
    cr_assert_eq(team_new(3, &team), DPOT_OK);
    for (size_t loop = 0; loop < 2000; loop++) {
        check_loop(team, 1 + loop % 9);
    }
    team_free(team);
}
