#include "tool/audit/judge.h"

#include <math.h>

static bool is_vector(const struct finding *finding)
{
    return dpot_mechanism_is_vector(finding->subject->campaign.mechanism);
}

dpot_status judge_exactly(struct finding *finding, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = &finding->subject->campaign;
    if (!is_vector(finding)) {
        return index_exact_campaign(campaign, &finding->index, error);
    }
    const struct vector_program program = vector_program_of(campaign);
    return vector_exact(&program, finding_claimed_delta(finding), &finding->vector, error);
}

double finding_exact_maximum(const struct finding *finding)
{
    return is_vector(finding) ? finding->vector.epsilon
                              : fmax(finding->index.law_maximum, finding->index.polytope_maximum);
}

double finding_lower_bound(const struct finding *finding)
{
    return fmax(finding->path.epsilon, finding->direct.epsilon);
}

double finding_claimed_epsilon(const struct finding *finding)
{
    return dpot_epsilon_to_double(finding->subject->claim.epsilon_q32);
}

double finding_claimed_delta(const struct finding *finding)
{
    return dpot_delta_to_double(finding->subject->claim.delta_q64);
}

bool finding_passes(const struct finding *finding)
{
    const double claim = finding_claimed_epsilon(finding);
    return (is_vector(finding) || finding->index.is_private) &&
           finding_exact_maximum(finding) <= claim && finding_lower_bound(finding) <= claim &&
           path_tally_is_clean(&finding->tally) && finding->silence.is_silent;
}
