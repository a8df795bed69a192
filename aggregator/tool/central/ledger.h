/* The curator's ledger: what the runs of `dpot central` on a data set may spend, and have spent.
 *
 * File = header of 64 bytes, then records of 256, each with a BLAKE2b over the checksum before it
 * and the record (a chain):
 *
 *     BEGIN   seq, data set, adjacency, caps, time         once per data set, before its charges
 *     CHARGE  seq, data set, adjacency, mechanism, epsilon, delta, rho, time
 *
 * The curator names the data sets. Nothing in the file is computed from data, and no data are read
 * before the charge is durable.
 *
 * Invariants
 * (C1) When ledger_charge returns DPOT_OK, the charge is durable, folder included: a crash
 *      afterwards leaves it charged, and a repeated run is charged again. No charge is ever undone.
 * (C2) A record is durable before the next one is written, so that only the last can be torn. A
 *      torn record is cut off, as its run had not begun (later damage to the last record looks the
 *      same). With any other invalid record the whole ledger is refused.
 * (C3) A run holds the lock of the file from reading to charging, so that two runs cannot both
 *      spend the same remainder.
 *
 * Sums. epsilon and delta add up (basic composition), and so does rho (zCDP), even when runs are
 * chosen by the results of earlier ones: the caps, in epsilon and delta or in rho, are fixed when
 * the data set begins, and each bounds its sum (Rogers et al. 2016; Feldman and Zrnic 2021). A data
 * set has one adjacency. A ledger that was removed or restored from a copy is not detected. */
#ifndef DPOT_TOOL_CENTRAL_LEDGER_H
#define DPOT_TOOL_CENTRAL_LEDGER_H

#include "base/error.h"
#include "central/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_NAME_SIZE 64
#define LEDGER_ONE ((uint64_t)1 << 40) /* epsilon 1, and rho 1 */
#define LEDGER_NO_CAP UINT64_MAX

/* A charge, a sum or caps. Sums stop at UINT64_MAX. */
struct ledger_cost {
    uint64_t epsilon; /* in units of 2^-40 */
    uint64_t delta;   /* in units of 2^-64 */
    uint64_t rho;     /* in units of 2^-40 */
};

/* value (>= 0) times unit, rounded down; at most LEDGER_NO_CAP - 1. */
uint64_t ledger_units(double value, double unit);
#define LEDGER_DELTA_ONE 18446744073709551616.0 /* 2^64 */

struct ledger_entry {
    char name[LEDGER_NAME_SIZE]; /* of the data set */
    char mechanism[LEDGER_NAME_SIZE];
    enum adjacency adjacency;
    struct ledger_cost cost;
    int64_t time_ms;
};

struct ledger_data_set {
    char name[LEDGER_NAME_SIZE];
    enum adjacency adjacency;
    struct ledger_cost caps; /* of rho, or of epsilon and delta; the other: LEDGER_NO_CAP */
    struct ledger_cost spent;
    uint64_t n_charges;
};

struct ledger {
    size_t n_data_sets, n_entries;
    struct ledger_data_set *data_sets; /* in the order of their beginning; owned */
    struct ledger_entry *entries;      /* the charges in order; owned */
};

/* 1 to 63 letters, digits, points, dashes and underscores. */
bool ledger_is_name(const char *name);

/* Charges `request` to its data set, durably. With `caps` the data set may begin now; if it has
 * begun, its caps must be equal. NULL: the data set must have begun. DPOT_ERR_BUDGET: the caps do
 * not allow the charge, or the data set does not exist or has other caps or another adjacency;
 * nothing was charged. DPOT_ERR_CORRUPT: the file is damaged or no ledger. DPOT_ERR_IO: the charge
 * may or may not be durable; data must not be read. */
DPOT_WARN_UNUSED dpot_status ledger_charge(const char *path, const struct ledger_entry *request,
                                           const struct ledger_cost *caps,
                                           struct dpot_error *error);

/* Reads the whole ledger; a torn last record is skipped, and stays in the file. Release also after
 * a failure. DPOT_ERR_IO, DPOT_ERR_CORRUPT. */
DPOT_WARN_UNUSED dpot_status ledger_read(const char *path, struct ledger *ledger,
                                         struct dpot_error *error);
void ledger_release(struct ledger *ledger);

#endif
