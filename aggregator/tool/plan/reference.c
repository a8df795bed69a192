/* dpot plan --reference: the population from a file (forecast/reference.h). */
#include "tool/plan/plan.h"

#include "base/alloc.h"
#include "model/measure.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/rows.h"

#include <string.h>

static dpot_status take_weights(struct run *run, const struct dpot_campaign *campaign,
                                struct array *data, struct reference *r)
{
    const size_t k = campaign->domain.size;
    if (data->n_rows != k) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--reference has %zu weight%s and the domain %zu point%s: give one "
                              "weight a point, or rows of device, coordinates, count",
                              data->n_rows, DPOT_S(data->n_rows), k, DPOT_S(k));
    }
    const dpot_status status =
        dpot_weights_check(data->values, k, option_is_given(run, "normalize"), &run->error);
    if (status != DPOT_OK) {
        return dpot_error_prefix(&run->error, status, "--reference (see --normalize)");
    }
    r->kind = REFERENCE_WEIGHTS;
    return reference_from_weights(data->values, k, r);
}

/* The public default measure of a device without data: n points, spread evenly
 * (dpot_private_measure_set). */
static size_t fill_default(const struct dpot_campaign *campaign, struct rows_entry *entries)
{
    const size_t k = campaign->domain.size;
    const size_t n = campaign->n_max < k ? campaign->n_max : k;
    for (size_t r = 0; r < n; r++) {
        entries[r] = (struct rows_entry){(uint32_t)((uint64_t)r * k / n), 1 / (double)n};
    }
    return n;
}

/* As the device does: keeps the n_max heaviest of n entries, ties to the lowest point, scaled to
 * mass one. */
static size_t keep_heaviest(struct rows_entry *entries, size_t n, size_t n_max)
{
    double total = 0;
    for (; n > n_max; n--) {
        size_t lightest = 0;
        for (size_t i = 1; i < n; i++) {
            lightest = entries[i].mass <= entries[lightest].mass ? i : lightest;
        }
        memmove(entries + lightest, entries + lightest + 1, (n - 1 - lightest) * sizeof *entries);
    }
    for (size_t i = 0; i < n; i++) {
        total += entries[i].mass;
    }
    for (size_t i = 0; i < n; i++) {
        entries[i].mass /= total;
    }
    return n;
}

static size_t most_entries(const struct rows *rows, const struct dpot_campaign *campaign)
{
    size_t most = campaign->n_max;
    for (size_t t = 0; t < rows->n_devices; t++) {
        const size_t n = rows->first[t + 1] - rows->first[t];
        most = n > most ? n : most;
    }
    return most;
}

static void add_device(const struct rows *rows, const struct dpot_campaign *campaign, size_t t,
                       struct rows_entry *entries, struct reference *r)
{
    size_t n = rows_entries(rows, t, entries);
    n = n > 0 ? n : fill_default(campaign, entries);
    for (size_t i = 0; i < n; i++) {
        r->truth[entries[i].point] += r->share[t] * entries[i].mass;
    }
    n = keep_heaviest(entries, n, campaign->n_max);
    for (size_t i = 0; i < n; i++) {
        r->point[r->first[t] + i] = entries[i].point;
        r->mass[r->first[t] + i] = entries[i].mass;
    }
    r->first[t + 1] = r->first[t] + n;
}

static dpot_status from_measures(const struct rows *rows, const struct dpot_campaign *campaign,
                                 struct reference *r)
{
    const size_t cap = most_entries(rows, campaign);
    struct rows_entry *entries = dpot_alloc_array(NULL, cap, sizeof *entries);
    r->n_points = campaign->domain.size;
    r->n_entries = 0;
    for (size_t t = 0; t < rows->n_devices; t++) {
        const size_t n = rows->first[t + 1] - rows->first[t];
        r->n_entries += n > campaign->n_max ? n : campaign->n_max;
    }
    dpot_status status = entries ? reference_allocate(r) : DPOT_ERR_MEMORY;
    for (size_t t = 0; status == DPOT_OK && t < r->n_members; t++) {
        r->share[t] = 1 / (double)r->n_members;
        add_device(rows, campaign, t, entries, r);
    }
    dpot_free_array(NULL, entries, cap, sizeof *entries);
    return status;
}

static dpot_status from_vectors(const struct rows *rows, struct reference *r)
{
    r->dim = rows->dim;
    if (reference_allocate(r) != DPOT_OK) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t t = 0; t < r->n_members; t++) {
        r->share[t] = 1 / (double)r->n_members;
        rows_vector(rows, t, r->vectors + t * r->dim);
    }
    return DPOT_OK;
}

static dpot_status take_devices(struct run *run, const struct dpot_campaign *campaign,
                                const struct array *data, uint64_t n_first, struct reference *r)
{
    struct rows rows;
    dpot_status status =
        rows_init(&rows, "--reference", ROWS_OR_VECTORS, data, campaign, n_first, &run->error);
    if (status == DPOT_OK) {
        r->kind = REFERENCE_DEVICES;
        r->n_members = rows.n_devices;
        status = dpot_mechanism_is_vector(campaign->mechanism) ? from_vectors(&rows, r)
                                                               : from_measures(&rows, campaign, r);
        rows_release(&rows);
        return status;
    }
    return status;
}

dpot_status reference_load(struct run *run, const struct dpot_campaign *campaign,
                           bool needs_devices, uint64_t n_first, struct reference *reference)
{
    struct array data;
    const bool is_vector =
        dpot_mechanism_is_vector(campaign->mechanism) || dpot_campaign_is_sphere(campaign);
    *reference = (struct reference){0};
    if (!option_is_given(run, "reference")) {
        reference->kind = REFERENCE_NONE;
        return is_vector ? DPOT_OK : reference_uniform(campaign, reference);
    }
    dpot_status status = load_finite(run, "reference", &data);
    if (status != DPOT_OK) {
        return status;
    }
    if (!data.is_vector || is_vector) {
        status = take_devices(run, campaign, &data, n_first, reference);
    } else if (needs_devices) {
        status = dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "--reference holds weights, which name no devices: --crowd fixed "
                                "needs rows of device, coordinates, count");
    } else {
        status = take_weights(run, campaign, &data, reference);
    }
    array_release(&data);
    if (status != DPOT_OK) {
        reference_release(reference);
    }
    return status;
}
