#include "tool/audit/verdict.h"

#include <math.h>

static bool is_vector(const struct verdict *verdict)
{
    return dpot_mechanism_is_vector(verdict->subject->campaign.mechanism);
}

dpot_status verdict_enumerate(struct verdict *verdict, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = &verdict->subject->campaign;
    if (!is_vector(verdict)) {
        return index_exact_campaign(campaign, &verdict->index, error);
    }
    const struct vector_program program = vector_program_of(campaign);
    return vector_exact(&program, verdict_claimed_delta(verdict), &verdict->vector, error);
}

double verdict_exact_maximum(const struct verdict *verdict)
{
    return is_vector(verdict) ? verdict->vector.epsilon
                              : fmax(verdict->index.law_maximum, verdict->index.polytope_maximum);
}

double verdict_lower_bound(const struct verdict *verdict)
{
    return fmax(verdict->path.epsilon, verdict->direct.epsilon);
}

double verdict_claimed_epsilon(const struct verdict *verdict)
{
    return dpot_epsilon_to_double(verdict->subject->claim.epsilon_q32);
}

double verdict_claimed_delta(const struct verdict *verdict)
{
    return dpot_delta_to_double(verdict->subject->claim.delta_q64);
}

bool verdict_passes(const struct verdict *verdict)
{
    const double claim = verdict_claimed_epsilon(verdict);
    return (is_vector(verdict) || verdict->index.is_private) &&
           verdict_exact_maximum(verdict) <= claim && verdict_lower_bound(verdict) <= claim &&
           client_path_tally_is_clean(&verdict->tally) && verdict->silence.is_silent;
}
