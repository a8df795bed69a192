#include "http/certificate.h"

#include <gnutls/x509.h>

static int64_t ms_of(time_t time)
{
    return (int64_t)time * 1000;
}

/* Takes the certificate, too. */
static void narrow(struct certificate_period *period, gnutls_x509_crt_t certificate)
{
    const int64_t begin_ms = ms_of(gnutls_x509_crt_get_activation_time(certificate));
    const int64_t end_ms = ms_of(gnutls_x509_crt_get_expiration_time(certificate));
    period->not_before_ms = begin_ms > period->not_before_ms ? begin_ms : period->not_before_ms;
    period->not_after_ms = end_ms < period->not_after_ms ? end_ms : period->not_after_ms;
    gnutls_x509_crt_deinit(certificate);
}

dpot_status certificate_read_period(const void *pem, size_t len, struct certificate_period *period,
                                    struct dpot_error *error)
{
    const gnutls_datum_t data = {(unsigned char *)pem, (unsigned)len};
    gnutls_x509_crt_t *chain = NULL;
    unsigned n = 0;
    const int code = gnutls_x509_crt_list_import2(&chain, &n, &data, GNUTLS_X509_FMT_PEM, 0);
    *period = (struct certificate_period){INT64_MIN, INT64_MAX};
    if (code < 0) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT, "no PEM certificate can be read: %s",
                              gnutls_strerror(code));
    }
    for (unsigned i = 0; i < n; i++) {
        narrow(period, chain[i]);
    }
    gnutls_free(chain);
    return DPOT_OK;
}
