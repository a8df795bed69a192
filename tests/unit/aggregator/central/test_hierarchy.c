/* Consistent counts for given noise. */
#include "golden.h"

#include "central/hierarchy.h"

#include <criterion/criterion.h>
#include <string.h>

/* Noise from a list, then 0; the cells `closed` of one level are closed. */
struct script {
    const json_t *noise;
    size_t n_used;
    size_t level; /* of the closed cells; 0: none */
    uint64_t closed;
    size_t n_asked[8]; /* draws of each level */
};

static int64_t take_noise(void *ctx, size_t level)
{
    struct script *script = ctx;
    script->n_asked[level < 8 ? level : 7]++;
    return (int64_t)json_integer_value(json_array_get(script->noise, script->n_used++));
}

static bool is_closed(void *ctx, size_t level, uint64_t code)
{
    const struct script *script = ctx;
    return level == script->level && (script->closed >> code & 1);
}

static void count(const uint64_t *codes, const int64_t *counts, size_t n, size_t depth,
                  int64_t root, struct script *script, struct hierarchy_leaves *leaves)
{
    struct hierarchy_records records;
    struct dpot_error error = {""};
    const struct hierarchy_rules rules = {take_noise, script->level ? is_closed : NULL, script};
    cr_assert_eq(hierarchy_records_init(&records, codes, counts, n, depth, &error), DPOT_OK, "%s",
                 error.text);
    cr_assert_eq(hierarchy_count(&records, depth, root, &rules, leaves, &error), DPOT_OK, "%s",
                 error.text);
    hierarchy_records_release(&records);
}

static int64_t count_of(const struct hierarchy_leaves *leaves, uint64_t code)
{
    for (size_t i = 0; i < leaves->n; i++) {
        if (leaves->leaves[i].code == code) {
            return leaves->leaves[i].count;
        }
    }
    return 0;
}

Test(hierarchy, one_split_is_that_of_the_golden_vectors)
{
    json_t *root = golden_pmm();
    const json_t *splits = json_object_get(root, "split");
    cr_assert_geq(json_array_size(splits), 6);
    for (size_t i = 0; i < json_array_size(splits); i++) {
        const json_t *in = json_array_get(json_array_get(splits, i), 0);
        const json_t *out = json_array_get(json_array_get(splits, i), 1);
        const int64_t m = (int64_t)golden_at(in, 0);
        const int64_t part =
            hierarchy_split(m, (int64_t)golden_at(in, 1), (int64_t)golden_at(in, 2));
        cr_assert_eq((double)part, golden_at(out, 0), "case %zu", i);
        cr_assert_eq((double)(m - part), golden_at(out, 1), "case %zu", i);
    }
    json_decref(root);
}

/* Both children change by amounts that differ by at most one, unless one of them reaches 0. */
Test(hierarchy, splits_share_the_difference_equally)
{
    for (int64_t m = 0; m < 14; m++) {
        for (int64_t a = 0; a < 16; a++) {
            for (int64_t b = 0; b < 16; b++) {
                const int64_t left = hierarchy_split(m, a, b), right = m - left;
                cr_assert(left >= 0 && right >= 0);
                const int64_t difference = (left - a) - (right - b);
                cr_assert((difference >= -1 && difference <= 1) || left == 0 || right == 0,
                          "%d %d %d", (int)m, (int)a, (int)b);
            }
        }
    }
    cr_assert_eq(hierarchy_split(5, HIERARCHY_COUNT_MAX, HIERARCHY_COUNT_MAX), 2);
    cr_assert_eq(hierarchy_split(5, HIERARCHY_COUNT_MAX, 0), 5);
    cr_assert_eq(hierarchy_split(HIERARCHY_COUNT_MAX, 0, 0), HIERARCHY_COUNT_MAX / 2);
}

Test(hierarchy, golden_noise_gives_the_golden_leaves)
{
    json_t *root = golden_pmm();
    const json_t *index = json_object_get(root, "leaf_index");
    const json_t *wanted = json_object_get(root, "consistent_leaf_counts");
    struct script script = {.noise = json_object_get(root, "injected_noise")};
    struct hierarchy_leaves leaves;
    uint64_t codes[16];
    for (size_t i = 0; i < 16; i++) {
        codes[i] = (uint64_t)golden_at(index, i);
    }
    count(codes, NULL, 16, 4, 16, &script, &leaves);
    for (uint64_t code = 0; code < 16; code++) {
        cr_assert_eq((double)count_of(&leaves, code), golden_at(wanted, code), "leaf %d",
                     (int)code);
    }
    hierarchy_leaves_release(&leaves);
    json_decref(root);
}

Test(hierarchy, without_noise_the_leaves_are_the_records)
{
    const uint64_t codes[] = {5, 0, 5, 7, 5, 0};
    const int64_t counts[] = {10, 0, 1, 3, 100, 2};
    struct script script = {.noise = NULL};
    struct hierarchy_leaves leaves;
    count(codes, counts, 6, 3, 116, &script, &leaves);
    cr_assert_eq(leaves.n, 3);
    cr_assert_eq(count_of(&leaves, 5), 111);
    cr_assert_eq(count_of(&leaves, 0), 2);
    cr_assert_eq(count_of(&leaves, 7), 3);
    hierarchy_leaves_release(&leaves);
}

Test(hierarchy, cells_without_records_are_noised_too)
{
    /* All records are in leaf 0 of 8: each cell with mass needs two draws, whatever its true count
     * is. */
    const uint64_t codes[] = {0, 0, 0, 0};
    struct script script = {.noise = NULL};
    struct hierarchy_leaves leaves;
    json_t *noise = json_pack("[i,i]", 0, 4); /* level 1: the empty half gets 4 */
    script.noise = noise;
    count(codes, NULL, 4, 3, 4, &script, &leaves);
    cr_assert_eq(script.n_asked[1], 2);
    cr_assert_eq(script.n_asked[2], 4, "both halves hold mass now");
    cr_assert_eq(script.n_asked[3], 6, "2 on the left, 1 + 1 on the right");
    hierarchy_leaves_release(&leaves);
    json_decref(noise);
}

Test(hierarchy, counts_are_clamped_at_zero_and_at_the_top)
{
    const uint64_t codes[] = {0, 1};
    struct hierarchy_leaves leaves;
    json_t *noise = json_pack("[I,I]", (json_int_t)INT64_MIN / 2, (json_int_t)INT64_MAX / 2);
    struct script script = {.noise = noise};
    count(codes, NULL, 2, 1, 2, &script, &leaves);
    cr_assert_eq(count_of(&leaves, 0), 0);
    cr_assert_eq(count_of(&leaves, 1), 2);
    hierarchy_leaves_release(&leaves);
    json_decref(noise);
}

Test(hierarchy, a_closed_cell_gives_its_mass_to_its_sibling_without_noise)
{
    const uint64_t codes[] = {0, 1, 2, 3};
    struct script script = {.noise = NULL, .level = 2, .closed = 1u << 1 | 1u << 2 | 1u << 3};
    struct hierarchy_leaves leaves;
    count(codes, NULL, 4, 2, 4, &script, &leaves);
    cr_assert_eq(count_of(&leaves, 0), 2);
    cr_assert_eq(count_of(&leaves, 1), 0);
    cr_assert_eq(count_of(&leaves, 2), 1, "two closed siblings share as if open");
    cr_assert_eq(count_of(&leaves, 3), 1);
    cr_assert_eq(script.n_asked[2], 2, "noise for the pair that is not decided by the rule");
    hierarchy_leaves_release(&leaves);
}

Test(hierarchy, mass_is_conserved_for_any_noise)
{
    uint64_t codes[300];
    for (size_t i = 0; i < 300; i++) {
        codes[i] = (i * i * 7919 + i) % 4096;
    }
    for (int trial = 0; trial < 20; trial++) {
        struct hierarchy_leaves leaves;
        json_t *noise = json_array();
        for (int i = 0; i < 4000; i++) {
            (void)json_array_append_new(noise, json_integer((i * 37 + trial * 11) % 23 - 11));
        }
        struct script script = {.noise = noise};
        count(codes, NULL, 300, 12, 300, &script, &leaves);
        int64_t sum = 0;
        for (size_t i = 0; i < leaves.n; i++) {
            cr_assert(leaves.leaves[i].count > 0);
            cr_assert(i == 0 || leaves.leaves[i].code > leaves.leaves[i - 1].code);
            sum += leaves.leaves[i].count;
        }
        cr_assert_eq(sum, 300);
        hierarchy_leaves_release(&leaves);
        json_decref(noise);
    }
}

Test(hierarchy, no_records_at_all_is_a_tree_of_noise)
{
    struct script script = {.noise = NULL};
    struct hierarchy_leaves leaves;
    count(NULL, NULL, 0, 2, 4, &script, &leaves);
    for (uint64_t code = 0; code < 4; code++) {
        cr_assert_eq(count_of(&leaves, code), 1);
    }
    hierarchy_leaves_release(&leaves);
}

Test(hierarchy, deep_codes_are_sorted_by_all_their_bits)
{
    const uint64_t top = (uint64_t)1 << 47;
    const uint64_t codes[] = {top + 1, 3, top, 1, top + (1u << 30), 2};
    struct hierarchy_records records;
    cr_assert_eq(hierarchy_records_init(&records, codes, NULL, 6, 48, NULL), DPOT_OK);
    cr_assert_eq(records.n, 6);
    cr_assert_eq(hierarchy_records_total(&records), 6);
    for (size_t i = 0; i < 6; i++) {
        cr_assert_eq(records.cells[i].n, (int64_t)i);
        cr_assert(i == 0 || records.cells[i].code > records.cells[i - 1].code);
    }
    hierarchy_records_release(&records);
}

Test(hierarchy, refuses_invalid_counts)
{
    const uint64_t codes[] = {0, 1};
    const int64_t negative[] = {3, -1}, many[] = {HIERARCHY_RECORDS_MAX, 1};
    struct hierarchy_records records;
    struct dpot_error error = {""};
    cr_assert_eq(hierarchy_records_init(&records, codes, negative, 2, 1, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "count"), "%s", error.text);
    cr_assert_eq(hierarchy_records_init(&records, codes, many, 2, 1, &error), DPOT_ERR_RANGE);
    cr_assert_null(records.cells);
}
