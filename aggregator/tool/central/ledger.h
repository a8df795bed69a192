/* The curator's ledger: what all runs of `dpot central` on a data set may spend, and what they did.
 *
 * File = header of 64 bytes, then records of 256, each with a BLAKE2b over the checksum before it
 * and the record (a chain):
 *
 *     BEGIN   seq, data set, adjacency, caps, time        once for each data set, before its charges
 *     CHARGE  seq, data set, adjacency, mechanism, epsilon, delta, rho, time
 *
 * Data sets have names that the curator gives. Nothing in the file is computed from data, and no
 * data are read before the charge is on disk.
 *
 * Invariants
 * (C1) When ledger_charge returns DPOT_OK, the charge is durable, folder included: a crash
 *      afterwards leaves it charged, and a run that is repeated is charged again. Nothing takes a
 *      charge back.
 * (C2) A record is durable before the next is written, so that only the last can be torn; it is cut
 *      off then, as its run had not begun (damage done to it later looks the same). Any other
 *      record that does not hold: the whole ledger is refused.
 * (C3) One run at a time holds the file's lock, from reading to the charge, so that of two only one
 *      can have what is left.
 *
 * Sums. epsilon and delta add up (basic composition), and so does rho (zCDP), also where a run is
 * chosen by what earlier runs released: caps are fixed when the data set begins, in the one or the
 * other, and each is a bound on the sum (Rogers et al. 2016; Feldman and Zrnic 2021). One data set
 * has one adjacency. It does not notice that the file is gone or was put back from a copy. */
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
    uint64_t delta;   /* of 2^-64 */
    uint64_t rho;     /* of 2^-40 */
};

/* value times unit, rounded down, and at most LEDGER_NO_CAP - 1. value >= 0. */
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
    struct ledger_data_set *data_sets; /* in the order they began; owned */
    struct ledger_entry *entries;      /* the charges in their order; owned */
};

/* 1 to 63 letters, digits, points, dashes and underscores. */
bool ledger_is_name(const char *name);

/* Charges `wish` to its data set, durably. caps: of a data set that may begin now, and what those
 * of one that has begun must be; NULL: it has begun. DPOT_ERR_BUDGET: the caps do not allow it, or
 * there is no such data set, or it has other caps or another adjacency; nothing was charged.
 * DPOT_ERR_CORRUPT: the file is damaged or no ledger. DPOT_ERR_IO: it may or may not be charged;
 * data must not be read. */
DPOT_WARN_UNUSED dpot_status ledger_charge(const char *path, const struct ledger_entry *wish,
                                           const struct ledger_cost *caps,
                                           struct dpot_error *error);

/* Reads all of it; a torn last record is left out, and left alone. Release it in every case.
 * DPOT_ERR_IO, DPOT_ERR_CORRUPT. */
DPOT_WARN_UNUSED dpot_status ledger_read(const char *path, struct ledger *ledger,
                                         struct dpot_error *error);
void ledger_release(struct ledger *ledger);

#endif
