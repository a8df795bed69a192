/* dpot/status.h - every status code of dpot, with its text, in one table.
 *
 * 0 is success and every failure is negative. The band tells the caller what to do:
 *
 *     -1 ..  -99   a mistake in the call; nothing was changed, fix the call
 *   -100 .. -199   the environment (memory, disk, network); the same call may succeed later
 *   -200 .. -299   data (malformed, wrong signature, wrong version); the data must change
 *   -300 .. -399   privacy (budget, cap, closed campaign); refused, retrying does not help
 *   -900 .. -999   fatal: the handle may only be closed
 *
 * What to do about each one: client/doc/status.md. Published numbers: never reordered, never
 * reused. */
#ifndef DPOT_STATUS_H
#define DPOT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DPOT_WARN_UNUSED __attribute__((warn_unused_result))
#define DPOT_API __attribute__((visibility("default")))
#else
#define DPOT_WARN_UNUSED
#define DPOT_API
#endif

#define DPOT_STATUS_TABLE(X)                                                                       \
    X(DPOT_OK, 0, "success")                                                                       \
    X(DPOT_ERR_ARGUMENT, -1, "an argument is missing or out of range")                             \
    X(DPOT_ERR_STATE, -2, "the call is not allowed in this state")                                 \
    X(DPOT_ERR_MEMORY, -100, "out of memory")                                                      \
    X(DPOT_ERR_IO, -101, "reading or writing a file failed")                                       \
    X(DPOT_ERR_NETWORK, -102, "the server could not be reached")                                   \
    X(DPOT_ERR_BUSY, -103, "another process or thread holds the lock")                             \
    X(DPOT_ERR_RANDOM, -104, "no source of randomness")                                            \
    X(DPOT_ERR_SERVER, -105, "the server answered with an error")                                  \
    X(DPOT_ERR_NO_SPACE, -106, "no space is left on the disk")                                     \
    X(DPOT_ERR_MALFORMED, -200, "the data are malformed")                                          \
    X(DPOT_ERR_VERSION, -201, "an unknown version or field")                                       \
    X(DPOT_ERR_SIGNATURE, -202, "the signature or key is wrong")                                   \
    X(DPOT_ERR_RANGE, -203, "a value is out of range")                                             \
    X(DPOT_ERR_SHAPE, -204, "the shapes do not match")                                             \
    X(DPOT_ERR_NOT_FOUND, -205, "not found")                                                       \
    X(DPOT_ERR_CORRUPT, -206, "stored data are corrupt")                                           \
    X(DPOT_ERR_INFEASIBLE, -207, "the base measure is infeasible: the polytope is empty")          \
    X(DPOT_ERR_TOO_LARGE, -208, "the data exceed a limit")                                         \
    X(DPOT_ERR_EXISTS, -209, "it exists already")                                                  \
    X(DPOT_ERR_BUDGET, -300, "the privacy budget does not allow it")                               \
    X(DPOT_ERR_EPSILON, -301, "epsilon is above the cap or the ceiling")                           \
    X(DPOT_ERR_CLOSED, -302, "the campaign or its round is closed")                                \
    X(DPOT_ERR_NOT_OPEN, -303, "the campaign or its round is not open yet")                        \
    X(DPOT_ERR_CAP_UNSET, -304, "a privacy cap has not been set")                                  \
    X(DPOT_ERR_SIMULATION, -305, "a simulation campaign is refused by a real device")              \
    X(DPOT_ERR_DENIED, -306, "not allowed: the token or credential is wrong")                      \
    X(DPOT_ERR_CONSENT, -307, "the user has withdrawn consent")                                    \
    X(DPOT_ERR_UNEXPECTED, -308, "the app expects another campaign or other keys")                 \
    X(DPOT_ERR_POISONED, -900, "a disk error has poisoned this handle: close it and open again")   \
    X(DPOT_ERR_LEDGER, -901, "the privacy ledger cannot be trusted: the budget counts as spent")

enum dpot_status_code {
#define DPOT_STATUS_ENUM(name, value, text) name = value,
    DPOT_STATUS_TABLE(DPOT_STATUS_ENUM)
#undef DPOT_STATUS_ENUM
};

typedef int dpot_status;

/* The text of `status`; "unknown status" for a number that is not in the table. */
DPOT_API const char *dpot_status_text(dpot_status status);

/* The name of `status`, for instance "DPOT_ERR_IO". */
DPOT_API const char *dpot_status_name(dpot_status status);

/* True when the handle that returned `status` may only be closed. */
#define DPOT_STATUS_IS_FATAL(status) ((status) <= -900)

#ifdef __cplusplus
}
#endif

#endif
