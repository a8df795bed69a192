#include "solve/learn/optimizer.h"

#include <math.h>

dpot_status optimizer_init(struct optimizer *optimizer, enum optimizer_kind kind, size_t n,
                           const struct dpot_allocator *allocator)
{
    const size_t n_state = kind == OPTIMIZER_ADAM ? 2 * n : n;
    float *state = dpot_alloc_array(allocator, n_state, sizeof *state);
    if (!state) {
        *optimizer = (struct optimizer){.kind = kind};
        return DPOT_ERR_MEMORY;
    }
    *optimizer = (struct optimizer){.kind = kind,
                                    .decay = 0.99F,
                                    .beta1 = 0.9F,
                                    .beta2 = 0.999F,
                                    .floor = 1e-8F,
                                    .n = n,
                                    .n_state = n_state,
                                    .state = state,
                                    .allocator = allocator};
    return DPOT_OK;
}

void optimizer_release(struct optimizer *optimizer)
{
    dpot_free_array(optimizer->allocator, optimizer->state, optimizer->n_state,
                    sizeof *optimizer->state);
    *optimizer = (struct optimizer){.kind = optimizer->kind};
}

static void step_rmsprop(const struct optimizer *o, float rate, const float *restrict g,
                         float *restrict x)
{
    float *restrict v = o->state;
    const float decay = o->decay, rest = 1.0F - o->decay, floor = o->floor;
    for (size_t i = 0; i < o->n; i++) {
        v[i] = decay * v[i] + rest * (g[i] * g[i]);
        x[i] -= rate * g[i] / (sqrtf(v[i]) + floor);
    }
}

static void step_adam(const struct optimizer *o, float rate, const float *restrict g,
                      float *restrict x)
{
    float *restrict m = o->state, *restrict v = o->state + o->n;
    const float beta1 = o->beta1, beta2 = o->beta2, floor = o->floor;
    const double t = (double)o->n_steps;
    /* m' = m / (1 - b1^t), sqrt v' = sqrt v / sqrt(1 - b2^t) */
    const float m_rate = (float)((double)rate / (1.0 - pow((double)beta1, t)));
    const float v_scale = (float)(1.0 / sqrt(1.0 - pow((double)beta2, t)));
    for (size_t i = 0; i < o->n; i++) {
        m[i] = beta1 * m[i] + (1.0F - beta1) * g[i];
        v[i] = beta2 * v[i] + (1.0F - beta2) * (g[i] * g[i]);
        x[i] -= m_rate * m[i] / (v_scale * sqrtf(v[i]) + floor);
    }
}

void optimizer_step(struct optimizer *optimizer, float learning_rate, const float *gradient,
                    float *parameters)
{
    optimizer->n_steps++;
    if (optimizer->kind == OPTIMIZER_ADAM) {
        step_adam(optimizer, learning_rate, gradient, parameters);
    } else {
        step_rmsprop(optimizer, learning_rate, gradient, parameters);
    }
}

float learning_rate_at(enum learning_schedule schedule, double rate, uint64_t step,
                       uint64_t n_steps)
{
    const double done = n_steps > 0 ? (double)step / (double)n_steps : 0.0;
    switch (schedule) {
    case LEARNING_COSINE:
        return (float)(rate * 0.5 * (1.0 + cos(3.14159265358979323846 * done)));
    case LEARNING_LINEAR:
        return (float)(rate * (1.0 - done));
    case LEARNING_CONSTANT:
        break;
    }
    return (float)rate;
}
