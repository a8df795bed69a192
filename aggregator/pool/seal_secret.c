#include "base/clock.h"
#include "pool/ingest.h"

/* When the first of the keys that have not expired becomes valid; 0: all have expired. */
static int64_t find_begin(const struct seal_secret *secrets, size_t n, int64_t now_ms)
{
    int64_t first_ms = 0;
    for (size_t i = 0; i < n; i++) {
        const struct dpot_seal_key *key = &secrets[i].key;
        if (now_ms < key->not_after_ms && (first_ms == 0 || key->not_before_ms < first_ms)) {
            first_ms = key->not_before_ms;
        }
    }
    return first_ms;
}

dpot_status seal_secrets_check(const struct seal_secret *secrets, size_t n, int64_t now_ms,
                               size_t *n_valid, struct dpot_error *error)
{
    char begin[DPOT_RFC3339_SIZE], now[DPOT_RFC3339_SIZE];
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++) {
        const struct dpot_seal_key *key = &secrets[i].key;
        n_found += key->not_before_ms <= now_ms && now_ms < key->not_after_ms;
    }
    if (n_valid) {
        *n_valid = n_found;
    }
    if (n_found > 0) {
        return DPOT_OK;
    }
    const int64_t begin_ms = find_begin(secrets, n, now_ms);
    if (begin_ms == 0) {
        return dpot_error_set(
            error, DPOT_ERR_NOT_FOUND,
            "every seal key has expired: devices could not report; run dpotd keys add");
    }
    dpot_time_format(begin_ms, begin);
    dpot_time_format(now_ms, now);
    return dpot_error_set(
        error, DPOT_ERR_NOT_OPEN,
        "no seal key is valid before %s, and this machine says %s: devices cannot "
        "report until then; set the clock if it is wrong, or run dpotd keys add "
        "and start dpotd again",
        begin, now);
}
