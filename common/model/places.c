#include "model/places.h"

#include "model/weight_key.h"

#define READ ((uint64_t)DPOT_POINTS_READ)
#define WEIGHED ((uint64_t)DPOT_POINTS_WEIGHED)

struct walk {
    const double *weights; /* at least one */
    uint64_t has_weights;  /* all ones, or 0: weights[0] is that of every entry */
    uint64_t n;            /* entries */
    uint64_t n_weighed;    /* entries that are used */
    uint64_t is_drawn;     /* all ones: entries are drawn; 0: each is read once */
    uint64_t largest;      /* key of the largest weight */
    uint64_t sum;          /* of integer_of over all entries */
};

/* The k-th entry that is used: floor(k n / WEIGHED), or k if all are. */
static uint64_t entry_of(const struct walk *walk, uint64_t k)
{
    const uint64_t spaced = walk->n / WEIGHED * k + walk->n % WEIGHED * k / WEIGHED;
    const uint64_t is_spaced = dpot_key_mask(walk->n > WEIGHED);
    return ((spaced & is_spaced) | (k & ~is_spaced)) & dpot_key_mask(k < walk->n_weighed);
}

static uint64_t key_of(const struct walk *walk, uint64_t k)
{
    const double weight = walk->weights[(size_t)(entry_of(walk, k) & walk->has_weights)];
    return dpot_weight_key(weight) & dpot_key_mask(k < walk->n_weighed);
}

/* The weight in draws, below 2^40; 1 if each entry is read once. */
static uint64_t integer_of(const struct walk *walk, uint64_t k)
{
    const uint64_t once = dpot_key_mask(k < walk->n_weighed) & 1;
    return (dpot_weight_integer(key_of(walk, k), walk->largest) & walk->is_drawn) |
           (once & ~walk->is_drawn);
}

static struct walk begin(const double *weights, size_t n)
{
    static const double one = 1;
    const uint64_t has_weights = dpot_key_mask(weights && n > 0);
    struct walk walk = {.weights = has_weights ? weights : &one,
                        .has_weights = has_weights,
                        .n = n,
                        .n_weighed = n < WEIGHED ? n : WEIGHED,
                        .is_drawn = dpot_key_mask(n > READ)};
    for (uint64_t k = 0; k < WEIGHED; k++) {
        walk.largest = dpot_key_max(walk.largest, key_of(&walk, k));
    }
    for (uint64_t k = 0; k < WEIGHED; k++) {
        walk.sum += integer_of(&walk, k);
    }
    return walk;
}

/* What the running sum, which is below 2^52, has to pass for the r-th entry. */
static uint64_t mark_of(const struct walk *walk, uint64_t r, uint64_t uniform)
{
    const uint64_t coin = uniform >> 32;
    const uint64_t start = (walk->sum >> 32) * coin + ((walk->sum & UINT32_MAX) * coin >> 32);
    return (((walk->sum * r + start) / READ) & walk->is_drawn) | (r & ~walk->is_drawn);
}

static double weight_of(const struct walk *walk, uint64_t k)
{
    const double exact = dpot_weight_scaled(key_of(walk, k), walk->largest);
    return walk->is_drawn ? (double)(walk->sum > 0) : exact;
}

/* A step takes an entry or moves to the next. Where the running sum cannot pass the mark (fewer
 * entries than reads) the walk is at its end, and takes entry 0 with weight 0. */
void dpot_places_walk(const double *weights, size_t n, uint64_t uniform, dpot_places_taker *take,
                      void *ctx)
{
    const struct walk walk = begin(weights, n);
    uint64_t k = 0, r = 0, sum = integer_of(&walk, 0);
    for (uint64_t step = 0; step < WEIGHED + READ; step++) {
        const int is_passed = (mark_of(&walk, r, uniform) < sum) | (k >= WEIGHED - 1);
        if (is_passed & (r < READ)) {
            take(ctx, (size_t)entry_of(&walk, k), weight_of(&walk, k));
            r++;
        } else {
            k++;
            sum += integer_of(&walk, k);
        }
    }
}

struct reading {
    struct dpot_nearest *nearest;
    const double *points; /* (entries, dim); without data a point of the domain */
    double *histogram;
};

static void take_point(void *ctx, size_t entry, double weight)
{
    const struct reading *reading = ctx;
    const double *point = reading->points + entry * reading->nearest->domain->dim;
    reading->histogram[dpot_nearest_find(reading->nearest, point)] += weight;
}

void dpot_places_read(struct dpot_nearest *nearest, const double *points, const double *weights,
                      size_t n, uint64_t uniform, double *histogram)
{
    static const double origin[DPOT_GRID_DIM_MAX];
    const struct dpot_domain *domain = nearest->domain;
    const bool is_list = domain->type == DPOT_DOMAIN_POINTS;
    const bool has_data = points && n > 0;
    struct reading reading = {nearest,
                              has_data  ? points
                              : is_list ? domain->points
                                        : origin,
                              histogram};
    dpot_places_walk(weights, has_data ? n : 0, uniform, take_point, &reading);
}
