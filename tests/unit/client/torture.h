/* The exhaustive fault model: a device that submits, sends, is opened again, submits again, with
 * the process or the power ending in any of its operations, once or twice. */
#ifndef DPOT_TESTS_CLIENT_TORTURE_H
#define DPOT_TESTS_CLIENT_TORTURE_H

#include "unit/client/world.h"

/* One life: where it is cut, and what is lost. 0: not. */
struct torture_case {
    size_t first_cut; /* operation counted from the first opening */
    bool first_takes_effect;
    enum test_loss first_loss;
    size_t fail_sync;      /* the sync counted from the first opening */
    size_t fail_operation; /* the operation, of any kind, counted from the first opening */
    size_t full_from;      /* from this step of the life on the disk is full: see torture.c */
    size_t second_cut;     /* operation counted from the opening after the first restart */
    bool second_takes_effect;
    enum test_loss second_loss;
    bool answer_is_lost; /* the first POST reaches the server, its answer does not reach us */
    uint64_t seed;

    /* Broken twins. */
    const char *lies_about;
    bool hides_reports;
    bool opens_without_rewriting;
    bool counts; /* with a hardware counter */
    bool folds;  /* the ledger at every occasion */
};

struct torture_verdict {
    bool first_cut_hit; /* false: the life was over before */
    bool second_cut_hit;
    bool sync_hit;
    bool failure_hit;
    size_t n_violations;
    char violation[128]; /* the last one */
};

/* Runs the life, lets the device finish undisturbed, and checks the result. */
struct torture_verdict torture_run(const struct authority *authority,
                                   const struct torture_case *life);

#endif
