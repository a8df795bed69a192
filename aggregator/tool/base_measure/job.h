/* What the parts of dpot base-measure share: options and inputs (command.c), the work (find.c), users and the report on them
 * (users.c), and the check of a certificate (verify.c). */
#ifndef DPOT_TOOL_BASE_MEASURE_JOB_H
#define DPOT_TOOL_BASE_MEASURE_JOB_H

#include "solve/base_measure/base_measure.h"
#include "solve/base_measure/phi.h"
#include "solve/base_measure/users.h"
#include "tool/shared/campaign_file.h"
#include "tool/shared/command.h"
#include "tool/shared/load.h"

struct base_measure_job {
    struct run *run;
    const char *out_path, *trajectory_path;
    const char *method; /* mirror, certified, uniform or given */
    double epsilon, gap, cost_power;
    uint64_t max_iterations;
    bool has_max_iterations;
    double max_seconds; /* 0: no limit */
    double mix;
    bool is_mix_uniform;

    const char *campaign_text; /* NULL: the cost is given */
    struct campaign_file file;
    struct cost cost;
    struct array weights;      /* (k), or (users, k)'s users; empty: none */
    struct array base_measure; /* (kv) the result */
    double objective, lower_bound, worst_case, uniform_objective;
    size_t iterations;
    double started; /* seconds */
    struct team *team;

    /* Mirror descent as published, and best uniform, for the worst case or weights. */
    struct phi phi;

    /* Users. */
    struct array distributions, held_out; /* (users, k) */
    size_t *order;                        /* (users) those to fit, then those held out */
    struct base_measure_users fit, held;  /* n is 0 where there are none */
    struct base_measure_answer answer;    /* of certified, and of users */
    bool has_answer;
};

/* --max-seconds, since the work was started, as the deadline of a search. */
void base_measure_job_limit(const struct base_measure_job *job, struct solve_control *control);

/* Certified, or for users by any method; the answer and the numbers of the result. */
DPOT_WARN_UNUSED dpot_status base_measure_job_find(struct base_measure_job *job);

/* The worst case, or weights, by mirror or uniform. */
DPOT_WARN_UNUSED dpot_status base_measure_job_publish(struct base_measure_job *job);

/* Users from their files, split where none are held out. The cost must be there. */
DPOT_WARN_UNUSED dpot_status base_measure_job_load_users(struct base_measure_job *job);

/* Weights of input points, without users: users who stay at them. */
DPOT_WARN_UNUSED dpot_status base_measure_job_place_weights(struct base_measure_job *job);

/* What the measure means for the users held out; nothing without them. */
DPOT_WARN_UNUSED dpot_status base_measure_job_report(struct base_measure_job *job);

/* F.cert.npy beside an output F: w, y, then the users' potentials. */
DPOT_WARN_UNUSED dpot_status base_measure_job_write_certificate(struct base_measure_job *job);
DPOT_WARN_UNUSED dpot_status base_measure_job_read_certificate(struct base_measure_job *job,
                                                               const char *path,
                                                               struct array *certificate);

/* `--verify FILE`: the inputs that the side file names, where the command line has none of them, then the check. */
DPOT_WARN_UNUSED dpot_status base_measure_job_take_inputs(struct base_measure_job *job,
                                                          json_t **side);
DPOT_WARN_UNUSED dpot_status base_measure_job_verify(struct base_measure_job *job,
                                                     const json_t *side);

/* The inputs of a run, as its side file names them. */
void base_measure_job_put_inputs(struct base_measure_job *job);

/* --sphere: reads its options and puts the closed form. */
DPOT_WARN_UNUSED dpot_status base_measure_job_sphere(struct run *run);

#endif
