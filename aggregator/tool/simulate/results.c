#include "tool/simulate/results.h"

#include "base/alloc.h"
#include "files/number.h"
#include "files/output.h"
#include "pool/decode.h"
#include "pool/describe.h"
#include "tool/shared/conflict.h"
#include "json/side_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096

static void join(char *out, const char *folder, const char *name)
{
    (void)snprintf(out, PATH_SIZE, "%s/%s", folder, name);
}

dpot_status results_make_folder(struct run *run, const char *folder)
{
    struct stat info;
    if (strlen(folder) > PATH_SIZE - 64) {
        return dpot_error_set(&run->error, DPOT_ERR_ARGUMENT, "--out is too long");
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return dpot_error_set(&run->error, DPOT_ERR_IO, "making the folder %s failed: %s", folder,
                              strerror(errno));
    }
    if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode) || access(folder, W_OK | X_OK) != 0) {
        return dpot_error_set(&run->error, DPOT_ERR_IO, "%s is not a folder that can be written to",
                              folder);
    }
    return DPOT_OK;
}

/* Every file that a run may write; each run writes the first two. */
static const char *const result_names[] = {
    "results.json",          "devices.csv", "population_true.csv", "population_sample.csv",
    "vectors_true.npy",      "pool.npy",    "pool.npy.json",       "coefficients.npy",
    "coefficients.npy.json", "groups.npy"};
#define N_RESULTS (sizeof result_names / sizeof result_names[0])

dpot_status results_check_inputs(struct run *run, const char *name, const char *folder)
{
    return conflict_check_folder(run, name, folder, result_names, N_RESULTS);
}

/* Files of an earlier run that this one does not write must not stay; nor may the results.json of
 * that run, which is written last, make an incomplete set look complete. */
static dpot_status remove_stale(const struct results *r)
{
    for (size_t i = 0; i < N_RESULTS; i++) {
        char path[PATH_SIZE];
        join(path, r->folder, result_names[i]);
        if (unlink(path) != 0 && errno != ENOENT) {
            return dpot_error_set(&r->run->error, DPOT_ERR_IO,
                                  "removing %s of an earlier run failed: %s", path,
                                  strerror(errno));
        }
    }
    return DPOT_OK;
}

/* ---- populations ---- */

/* Reports of this run alone: the tally of a durable device counts earlier runs too. */
static uint32_t count_reports(const struct results *r, size_t device)
{
    const struct device_outcome *o = &r->outcomes[device];
    return r->plan->rounds - o->n_absent - o->n_refused;
}

/* The measure of the device averaged over the submitted reports, as in the pool. */
static void fill_populations(const struct results *r, double n_reports, double *truth,
                             double *sample)
{
    const struct crowd *crowd = r->plan->crowd;
    for (size_t i = 0; i < crowd->n_devices; i++) {
        const uint32_t n = count_reports(r, i);
        if (n > 0) {
            const double weight = n / n_reports;
            crowd_add_measure(crowd, i, r->plan->campaign, weight, truth);
            sample[crowd_draw_place(crowd, i, r->plan->campaign, r->outcomes[i].place)] += weight;
        }
    }
}

/* Writes the vectors of the devices that submitted, once for each report, in the order of devices:
 * the truth that an estimate from the pool is compared with. */
static dpot_status write_vectors(const struct results *r)
{
    char path[PATH_SIZE];
    struct array truth = {0};
    const struct crowd *crowd = r->plan->crowd;
    size_t n_reports = 0, row = 0;
    for (size_t i = 0; i < crowd->n_devices; i++) {
        n_reports += count_reports(r, i);
    }
    if (n_reports == 0) {
        run_warn(r->run, "no device submitted a report: there are no vectors to write");
        return DPOT_OK;
    }
    dpot_status status = array_init(&truth, n_reports, crowd->dim, false);
    for (size_t i = 0; status == DPOT_OK && i < crowd->n_devices; i++) {
        for (uint32_t k = 0; k < count_reports(r, i); k++) {
            crowd_vector(crowd, i, r->plan->campaign, truth.values + row++ * crowd->dim);
        }
    }
    if (status == DPOT_OK) {
        join(path, r->folder, "vectors_true.npy");
        status = array_write(path, &truth, ARRAY_F8, &r->run->error);
    }
    array_release(&truth);
    return status;
}

static dpot_status write_populations(const struct results *r)
{
    char path[PATH_SIZE];
    struct array truth = {0}, sample = {0};
    double n_reports = 0;
    for (size_t i = 0; i < r->plan->crowd->n_devices; i++) {
        n_reports += count_reports(r, i);
    }
    if (!(n_reports > 0)) {
        run_warn(r->run, "no device submitted a report: there is no population to write");
        return DPOT_OK;
    }
    dpot_status status = array_init(&truth, r->plan->campaign->domain.size, 1, true);
    if (status == DPOT_OK) {
        status = array_init(&sample, r->plan->campaign->domain.size, 1, true);
    }
    if (status == DPOT_OK) {
        fill_populations(r, n_reports, truth.values, sample.values);
        join(path, r->folder, "population_true.csv");
        status = array_write(path, &truth, ARRAY_F8, &r->run->error);
    }
    if (status == DPOT_OK) {
        join(path, r->folder, "population_sample.csv");
        status = array_write(path, &sample, ARRAY_F8, &r->run->error);
    }
    array_release(&truth);
    array_release(&sample);
    return status;
}

/* ---- devices ---- */

/* The status of the least settled report. */
static const char *status_of(const struct device_outcome *o)
{
    if (o->tally.n_submitted == 0) {
        return o->n_refused > 0 ? "refused" : "absent";
    }
    return o->tally.n_pending > 0          ? "pending"
           : tally_dropped(&o->tally) > 0  ? "dropped"
           : tally_rejected(&o->tally) > 0 ? "rejected"
           : o->tally.n_duplicate > 0      ? "duplicate"
                                           : "accepted";
}

static dpot_status write_devices(const struct results *r)
{
    char path[PATH_SIZE];
    struct output output;
    join(path, r->folder, "devices.csv");
    const dpot_status status = output_open(path, &output, &r->run->error);
    if (status != DPOT_OK) {
        return status;
    }
    const bool has_groups = r->plan->campaign->n_groups > 0;
    (void)fprintf(output.stream,
                  "device,status,epsilon,submitted,accepted,duplicate,rejected,dropped,pending%s\n",
                  has_groups ? ",group" : "");
    for (size_t i = 0; i < r->plan->crowd->n_devices; i++) {
        const struct device_outcome *o = &r->outcomes[i];
        char epsilon[NUMBER_SIZE];
        number_format(o->spent_epsilon, epsilon);
        (void)fprintf(output.stream,
                      "%.0f,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                      ",%" PRIu64,
                      r->plan->crowd->devices[i].id, status_of(o), epsilon, o->tally.n_submitted,
                      o->tally.n_accepted, o->tally.n_duplicate, tally_rejected(&o->tally),
                      tally_dropped(&o->tally), o->tally.n_pending);
        if (has_groups) {
            (void)fprintf(output.stream, ",%" PRIu32, r->plan->crowd->devices[i].group);
        }
        (void)fputc('\n', output.stream);
    }
    return output_commit(&output, &r->run->error);
}

/* ---- the pool of an in-process run ---- */

static json_t *counts_by(const char *const *names, const uint64_t *counts, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) {
        (void)json_object_set_new(object, names[i], json_integer((json_int_t)counts[i]));
    }
    return object;
}

/* The side file of the pool. Nothing is ingested any more, so its counts are those of the array. */
static json_t *describe_side(const struct results *r, enum decode_space space,
                             const struct pool_count *count)
{
    const struct dpot_campaign *campaign = r->plan->campaign;
    json_t *side = describe_pool(campaign, r->hash, count);
    if (side && decode_has_rows(campaign)) {
        (void)json_object_set_new(side, "space", json_string(decode_space_name(space)));
    }
    return side;
}

/* DPOT_ERR_NOT_FOUND: the pool is empty. */
static dpot_status write_reports(const struct results *r, const char *name, enum decode_space space,
                                 const struct pool_count *count)
{
    char path[PATH_SIZE];
    struct array pool = {0};
    const enum array_type type = decode_has_rows(r->plan->campaign) ? ARRAY_F8 : ARRAY_U4;
    join(path, r->folder, name);
    dpot_status status = in_process_pool(r->plan->in_process, space, &pool, &r->run->error);
    if (status == DPOT_OK) {
        status = array_write(path, &pool, type, &r->run->error);
    }
    if (status == DPOT_OK) {
        json_t *side = describe_side(r, space, count);
        status = side ? side_file_write(path, side, &r->run->error) : DPOT_ERR_MEMORY;
        json_decref(side);
    }
    array_release(&pool);
    return status;
}

static dpot_status write_groups(const struct results *r)
{
    char path[PATH_SIZE];
    struct array groups = {0};
    dpot_status status = in_process_groups(r->plan->in_process, &groups, &r->run->error);
    if (status == DPOT_OK) {
        join(path, r->folder, "groups.npy");
        status = array_write(path, &groups, ARRAY_U4, &r->run->error);
    }
    array_release(&groups);
    return status;
}

/* With a transform, also writes the coefficients, which generators are trained on. */
static dpot_status write_pool(const struct results *r, struct pool_count *count)
{
    const struct dpot_campaign *campaign = r->plan->campaign;
    *count = (struct pool_count){0};
    if (!r->plan->in_process) {
        return DPOT_OK;
    }
    dpot_status status = in_process_count(r->plan->in_process, count, &r->run->error);
    if (status == DPOT_OK) {
        status = write_reports(r, "pool.npy", DECODE_DATA, count);
    }
    if (status == DPOT_OK && campaign->vector.transform.id != DPOT_TRANSFORM_NONE) {
        status = write_reports(r, "coefficients.npy", DECODE_COEFFICIENTS, count);
    }
    if (status == DPOT_OK && campaign->n_groups > 0) {
        status = write_groups(r);
    }
    if (status == DPOT_ERR_NOT_FOUND) {
        run_warn(r->run, "the pool is empty: there is no pool.npy to write");
        return DPOT_OK;
    }
    return status;
}

/* ---- results.json ---- */

struct sums {
    struct tally tally;
    uint64_t n_absent, n_refused;
    double largest_epsilon;
    bool is_conserved;
};

static struct sums add_up(const struct results *r, const struct pool_count *count)
{
    struct sums sums = {.is_conserved = true};
    for (size_t i = 0; i < r->plan->crowd->n_devices; i++) {
        const struct device_outcome *o = &r->outcomes[i];
        tally_add(&sums.tally, &o->tally);
        sums.n_absent += o->n_absent;
        sums.n_refused += o->n_refused;
        sums.is_conserved = sums.is_conserved && tally_is_conserved(&o->tally);
        if (o->spent_epsilon > sums.largest_epsilon) {
            sums.largest_epsilon = o->spent_epsilon;
        }
    }
    if (r->plan->in_process) {
        /* The pool holds every report that a device knows to be stored, and none it did not
         * submit. */
        const uint64_t n_stored = sums.tally.n_accepted + sums.tally.n_duplicate;
        sums.is_conserved = sums.is_conserved && n_stored <= count->n_accepted &&
                            count->n_accepted <= sums.tally.n_submitted;
    }
    return sums;
}

static void put_counts(struct run *run, const struct sums *sums)
{
    const struct tally *tally = &sums->tally;
    run_put_integer(run, "absent", sums->n_absent);
    run_put_integer(run, "refused", sums->n_refused);
    run_put_integer(run, "submitted", tally->n_submitted);
    run_put_integer(run, "accepted", tally->n_accepted);
    run_put_integer(run, "duplicate", tally->n_duplicate);
    run_put_integer(run, "rejected", tally_rejected(tally));
    run_put(run, "rejected_by", counts_by(rejected_names, tally->n_rejected, N_REJECTED));
    run_put_integer(run, "dropped", tally_dropped(tally));
    run_put(run, "dropped_by", counts_by(dropped_names, tally->n_dropped, N_DROPPED));
    run_put_integer(run, "pending", tally->n_pending);
    run_put(run, "is_conserved", json_boolean(sums->is_conserved));
    run_put_number(run, "epsilon_per_device", sums->largest_epsilon);
}

/* For each group: its label, its devices, and how many of their reports count. */
static json_t *count_groups(const struct results *r)
{
    json_t *list = json_array();
    const struct dpot_campaign *campaign = r->plan->campaign;
    for (uint32_t g = 0; g < campaign->n_groups; g++) {
        uint64_t n_devices = 0, n_counted = 0;
        for (size_t i = 0; i < r->plan->crowd->n_devices; i++) {
            if (r->plan->crowd->devices[i].group == g) {
                n_devices++;
                n_counted += r->outcomes[i].tally.n_accepted + r->outcomes[i].tally.n_duplicate;
            }
        }
        (void)json_array_append_new(list, json_pack("{s:s,s:I,s:I}", "label", campaign->groups[g],
                                                    "devices", (json_int_t)n_devices, "counted",
                                                    (json_int_t)n_counted));
    }
    return list;
}

static dpot_status write_results(const struct results *r, const struct sums *sums,
                                 const struct pool_count *count)
{
    char path[PATH_SIZE], hex[2 * DPOT_HASH_LEN + 1];
    struct run *run = r->run;
    run_put_integer(run, "devices", r->plan->crowd->n_devices);
    run_put_integer(run, "rounds", r->plan->rounds);
    put_counts(run, sums);
    if (r->plan->in_process) {
        run_put_integer(run, "pool_accepted", count->n_accepted);
        run_put_integer(run, "pool_duplicate", count->n_duplicate);
    }
    if (r->plan->campaign->n_groups > 0) {
        run_put(run, "groups", count_groups(r));
    }
    run_put_text(run, "mechanism", dpot_mechanism_name(r->plan->campaign->mechanism));
    run_put_integer(run, "revision", r->plan->campaign->revision);
    run_put_text(run, "campaign_name", r->plan->campaign->name);
    dpot_hex_encode(hex, r->plan->campaign->id, DPOT_CAMPAIGN_ID_LEN);
    run_put_text(run, "campaign_id", hex);
    dpot_hex_encode(hex, r->hash, DPOT_HASH_LEN);
    run_put_text(run, "campaign_hash", hex);
    run_put(run, "seed", r->plan->has_seed ? json_integer((json_int_t)r->plan->seed) : json_null());
    run_put_number(run, "seconds", r->seconds);
    join(path, r->folder, "results.json");
    return json_write(path, run->result, &run->error);
}

/* Writes everything but results.json. */
static dpot_status write_tables(const struct results *results, struct pool_count *count)
{
    dpot_status status = remove_stale(results);
    if (status == DPOT_OK) {
        status = decode_has_rows(results->plan->campaign) ? write_vectors(results)
                                                          : write_populations(results);
    }
    if (status == DPOT_OK) {
        status = write_devices(results);
    }
    return status == DPOT_OK ? write_pool(results, count) : status;
}

dpot_status results_write(const struct results *results)
{
    struct pool_count count = {0};
    struct sums sums = {0};
    dpot_status status = write_tables(results, &count);
    if (status == DPOT_OK) {
        sums = add_up(results, &count);
        status = write_results(results, &sums, &count);
    }
    if (status != DPOT_OK) {
        return dpot_error_prefix(&results->run->error, status,
                                 "%.200s is incomplete (it has no results.json)", results->folder);
    }
    if (status == DPOT_OK && !sums.is_conserved) {
        status = dpot_error_set(&results->run->error, DPOT_ERR_STATE,
                                "reports are not conserved: see results.json and devices.csv in %s",
                                results->folder);
    }
    return status;
}
