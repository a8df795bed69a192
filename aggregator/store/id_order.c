#include "store/id_order.h"

static uint64_t load_big(const uint8_t bytes[8])
{
    uint64_t n = 0;
    for (size_t i = 0; i < 8; i++) {
        n = n << 8 | bytes[i];
    }
    return n;
}

struct id_place id_place_make(const uint8_t id[ID_SET_ID_LEN], size_t at)
{
    return (struct id_place){.high = load_big(id), .low = load_big(id + 8), .at = at};
}

int id_place_compare(const struct id_place *a, const struct id_place *b)
{
    return a->high != b->high ? (a->high > b->high) - (a->high < b->high)
                              : (a->low > b->low) - (a->low < b->low);
}

/* ---- radix sort in place: by the first byte, then every bucket by the next byte ---- */

#define N_BUCKETS 256
#define FEW 32 /* sorted by insertion */

static unsigned byte_of(const struct id_place *place, unsigned depth)
{
    const uint64_t word = depth < 8 ? place->high : place->low;
    return (unsigned)(word >> (56 - 8 * (depth % 8))) & (N_BUCKETS - 1);
}

static void insert_all(struct id_place *places, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct id_place place = places[i];
        size_t at = i;
        for (; at > 0 && id_place_compare(&place, &places[at - 1]) < 0; at--) {
            places[at] = places[at - 1];
        }
        places[at] = place;
    }
}

/* Moves each place into its bucket. `ends` receives the ends of the buckets. */
static void distribute(struct id_place *places, size_t n, unsigned depth, size_t ends[N_BUCKETS])
{
    size_t nexts[N_BUCKETS], counts[N_BUCKETS] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++) {
        counts[byte_of(&places[i], depth)]++;
    }
    for (size_t b = 0; b < N_BUCKETS; b++) {
        nexts[b] = sum;
        sum += counts[b];
        ends[b] = sum;
    }
    for (size_t b = 0; b < N_BUCKETS; b++) {
        while (nexts[b] < ends[b]) {
            struct id_place place = places[nexts[b]];
            for (unsigned to = byte_of(&place, depth); to != b; to = byte_of(&place, depth)) {
                const struct id_place other = places[nexts[to]];
                places[nexts[to]++] = place;
                place = other;
            }
            places[nexts[b]++] = place;
        }
    }
}

static void sort_from(struct id_place *places, size_t n, unsigned depth)
{
    if (n <= FEW) {
        insert_all(places, n);
    } else if (depth < ID_SET_ID_LEN) {
        size_t ends[N_BUCKETS], begin = 0;
        distribute(places, n, depth, ends);
        for (size_t b = 0; b < N_BUCKETS; b++) {
            sort_from(places + begin, ends[b] - begin, depth + 1);
            begin = ends[b];
        }
    }
}

void id_order_sort(struct id_place *places, size_t n)
{
    sort_from(places, n, 0);
}
