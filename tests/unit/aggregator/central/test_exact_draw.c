/* Exact draws from a known stream of words. tests/privacy tests the distributions. */
#include "base/rng_seeded.h"
#include "central/discrete_laplace.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* A draw with these as its next words: the key of a stream cannot be chosen, but its buffer can. */
static void hold_words(struct exact_draw *draw, const uint64_t *words, size_t n)
{
    static struct dpot_rng_seeded seeded;
    dpot_rng_seeded_init(&seeded, 1, 0);
    exact_draw_init(draw, &seeded.source);
    for (size_t i = 0; i < n; i++) {
        draw->words[n - 1 - i] = words[i];
    }
    draw->n_left = n;
}

Test(exact_draw, below_maps_words_to_equal_shares)
{
    struct exact_draw draw;
    const uint64_t words[] = {0, UINT64_MAX, (uint64_t)1 << 63, ((uint64_t)1 << 62) - 1};
    hold_words(&draw, words, 4);
    cr_assert_eq(exact_draw_below(&draw, 8), 0);
    cr_assert_eq(exact_draw_below(&draw, 8), 7);
    cr_assert_eq(exact_draw_below(&draw, 8), 4);
    cr_assert_eq(exact_draw_below(&draw, 8), 1);
    exact_draw_release(&draw);
}

Test(exact_draw, below_draws_the_excess_words_again)
{
    /* 2^64 mod 3 = 1: one word, 0, is surplus and must be rejected. */
    struct exact_draw draw;
    const uint64_t words[] = {0, UINT64_MAX};
    hold_words(&draw, words, 2);
    cr_assert_eq(exact_draw_below(&draw, 3), 2);
    cr_assert_eq(draw.n_left, 0);
    exact_draw_release(&draw);
}

Test(exact_draw, one_value_needs_no_word)
{
    struct exact_draw draw;
    const uint64_t words[] = {7};
    hold_words(&draw, words, 1);
    cr_assert_eq(exact_draw_below(&draw, 1), 0);
    /* one word: below(5) < 0 is never true */
    cr_assert(exact_draw_exp(&draw, 0, 5), "e^0 is certain");
    cr_assert_eq(draw.n_left, 0);
    exact_draw_release(&draw);
}

Test(exact_draw, quotients_are_exact_beyond_64_bits_and_stop_at_the_limit)
{
    const struct discrete_laplace wide = {.t = (uint64_t)1 << 41, .s = (uint64_t)3 << 40};
    const uint64_t few = 1000, many = (uint64_t)1 << 22;
    /* (5 + 1000 2^41) / (3 2^40) = 2000 / 3, rounded down */
    cr_assert_eq(discrete_laplace_quotient(5, few, wide), 666);
    cr_assert_eq(discrete_laplace_quotient(5, many, wide), 2 * many / 3);
    cr_assert_eq(discrete_laplace_quotient((uint64_t)1 << 40, many + 2, wide), (2 * many + 5) / 3);
    cr_assert_eq(discrete_laplace_quotient(0, UINT64_MAX, wide), (uint64_t)DISCRETE_LAPLACE_MAX);
    const struct discrete_laplace coarse = {.t = (uint64_t)1 << 41, .s = 1};
    cr_assert_eq(discrete_laplace_quotient(7, ((uint64_t)1 << 21) - 1, coarse),
                 ((uint64_t)1 << 62) - ((uint64_t)1 << 41) + 7);
    cr_assert_eq(discrete_laplace_quotient(7, (uint64_t)1 << 21, coarse),
                 (uint64_t)DISCRETE_LAPLACE_MAX);
}

Test(exact_draw, a_released_draw_holds_nothing)
{
    struct exact_draw draw;
    const uint64_t words[] = {7, 8};
    hold_words(&draw, words, 2);
    exact_draw_release(&draw);
    for (size_t i = 0; i < EXACT_DRAW_WORDS; i++) {
        cr_assert_eq(draw.words[i], 0);
    }
    cr_assert_eq(draw.n_left, 0);
}
