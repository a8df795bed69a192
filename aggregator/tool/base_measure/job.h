/* Parts of dpot base-measure: options and inputs (command.c), method certified and users (find.c),
 * published methods (published.c), users and their report (users.c), certificates (verify.c),
 * spheres (sphere.c). */
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
    const char *method;  /* mirror, certified, uniform or given */
    bool is_method_open; /* none was named: mirror where certified would be slow */
    double epsilon, gap, cost_power;
    uint64_t max_iterations;
    bool has_max_iterations;
    double max_seconds; /* 0: no limit */
    double mix;
    bool is_mix_uniform;

    const char *campaign_text; /* NULL: the cost is given */
    struct campaign_file file;
    struct cost cost;
    struct array weights;      /* (k), with users (n_users); empty: none */
    struct array base_measure; /* (kv) the result */
    double objective, lower_bound, worst_case, uniform_objective;
    size_t iterations;
    double started; /* seconds */
    struct team *team;

    /* Published methods, for the worst case or weights. */
    struct phi phi;

    /* Users. */
    struct array distributions, held_out; /* (users, k) */
    size_t *order;                        /* (users) users to fit, then users held out */
    struct base_measure_users fit, held;  /* n is 0: none */
    struct base_measure_answer answer;    /* of find.c, if has_answer */
    bool has_answer;
};

/* Sets the deadline of a search: --max-seconds after job->started. */
void base_measure_job_limit(const struct base_measure_job *job, struct solve_control *control);

/* Method certified, or any method for users. Sets the answer and the result. */
DPOT_WARN_UNUSED dpot_status base_measure_job_find(struct base_measure_job *job);

/* Method mirror or uniform, for the worst case or weights. */
DPOT_WARN_UNUSED dpot_status base_measure_job_publish(struct base_measure_job *job);

/* Loads users and held-out users; without --held-out it splits them. The cost must be loaded. */
DPOT_WARN_UNUSED dpot_status base_measure_job_load_users(struct base_measure_job *job);

/* Turns weights of input points into users at these points, unless there are users. */
DPOT_WARN_UNUSED dpot_status base_measure_job_place_weights(struct base_measure_job *job);

/* Reports the costs of held-out users, if there are any. */
DPOT_WARN_UNUSED dpot_status base_measure_job_report(struct base_measure_job *job);

/* Writes F.cert.npy beside the output F: w, y, then the potentials of the users. */
DPOT_WARN_UNUSED dpot_status base_measure_job_write_certificate(struct base_measure_job *job);

/* --verify: take_inputs sets the options that the side file names and the command line lacks;
 * verify then checks the certificate. */
DPOT_WARN_UNUSED dpot_status base_measure_job_take_inputs(struct base_measure_job *job,
                                                          json_t **side);
DPOT_WARN_UNUSED dpot_status base_measure_job_verify(struct base_measure_job *job,
                                                     const json_t *side);

/* Adds the inputs of the run to its result and side file. */
void base_measure_job_put_inputs(struct base_measure_job *job);

/* --sphere: reads its options and reports the closed form. */
DPOT_WARN_UNUSED dpot_status base_measure_job_sphere(struct run *run);

#endif
