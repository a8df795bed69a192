#include "forecast/reference.h"

#include "base/alloc.h"

#include <string.h>

void reference_release(struct reference *reference)
{
    struct reference *r = reference;
    dpot_free_array(NULL, r->share, r->n_members, sizeof *r->share);
    dpot_free_array(NULL, r->first, r->n_members + 1, sizeof *r->first);
    dpot_free_array(NULL, r->point, r->n_entries, sizeof *r->point);
    dpot_free_array(NULL, r->mass, r->n_entries, sizeof *r->mass);
    dpot_free_array(NULL, r->truth, r->n_points, sizeof *r->truth);
    dpot_free_array(NULL, r->vectors, r->n_members * r->dim, sizeof *r->vectors);
    *r = (struct reference){0};
}

dpot_status reference_allocate(struct reference *r)
{
    r->share = dpot_alloc_array(NULL, r->n_members, sizeof *r->share);
    if (r->dim > 0) {
        r->vectors = dpot_alloc_array(NULL, r->n_members * r->dim, sizeof *r->vectors);
        return r->share && r->vectors ? DPOT_OK : DPOT_ERR_MEMORY;
    }
    r->first = dpot_alloc_array(NULL, r->n_members + 1, sizeof *r->first);
    r->point = dpot_alloc_array(NULL, r->n_entries, sizeof *r->point);
    r->mass = dpot_alloc_array(NULL, r->n_entries, sizeof *r->mass);
    r->truth = dpot_alloc_array(NULL, r->n_points, sizeof *r->truth);
    return r->share && r->first && r->point && r->mass && r->truth ? DPOT_OK : DPOT_ERR_MEMORY;
}

dpot_status reference_from_weights(const double *weights, size_t k, struct reference *r)
{
    r->n_points = k;
    r->n_members = 0;
    for (size_t i = 0; i < k; i++) {
        r->n_members += weights[i] > 0;
    }
    r->n_entries = r->n_members;
    if (reference_allocate(r) != DPOT_OK) {
        return DPOT_ERR_MEMORY;
    }
    size_t t = 0;
    for (size_t i = 0; i < k; i++) {
        r->truth[i] = weights[i];
        if (weights[i] > 0) {
            r->share[t] = weights[i];
            r->first[t] = t;
            r->point[t] = (uint32_t)i;
            r->mass[t] = 1;
            t++;
        }
    }
    r->first[t] = t;
    return DPOT_OK;
}

dpot_status reference_uniform(const struct dpot_campaign *campaign, struct reference *r)
{
    const size_t k = campaign->domain.size;
    double *weights = dpot_alloc_array(NULL, k, sizeof *weights);
    for (size_t i = 0; weights && i < k; i++) {
        weights[i] = 1 / (double)k;
    }
    const dpot_status status = weights ? reference_from_weights(weights, k, r) : DPOT_ERR_MEMORY;
    dpot_free_array(NULL, weights, k, sizeof *weights);
    r->kind = REFERENCE_UNIFORM;
    return status;
}

dpot_status reference_spread(const struct reference *reference, struct reference *points)
{
    const size_t k = reference->n_points;
    double *weights = dpot_alloc_array(NULL, k, sizeof *weights);
    *points = (struct reference){.kind = reference->kind};
    for (size_t t = 0; weights && t < reference->n_members; t++) {
        for (size_t i = reference->first[t]; i < reference->first[t + 1]; i++) {
            weights[reference->point[i]] += reference->share[t] * reference->mass[i];
        }
    }
    const dpot_status status =
        weights ? reference_from_weights(weights, k, points) : DPOT_ERR_MEMORY;
    dpot_free_array(NULL, weights, k, sizeof *weights);
    if (status == DPOT_OK) {
        memcpy(points->truth, reference->truth, k * sizeof *points->truth);
    } else {
        reference_release(points);
    }
    return status;
}

void reference_fill(const struct reference *reference, size_t member, double *histogram)
{
    for (size_t i = reference->first[member]; i < reference->first[member + 1]; i++) {
        histogram[reference->point[i]] = reference->mass[i];
    }
}
