/* Prints the contents of expected.txt: how many golden vectors are reproduced, and a SHA-256 of the
 * results of each part of the integer core. Exits 1 if a golden vector is not reproduced. */
#include "golden.h"
#include "mechanism/u128.h"
#include "portability.h"
#include "sha256.h"

#include <stdio.h>
#include <string.h>

static void print_digest(const char *name, void (*digest)(struct sha256 *))
{
    struct sha256 sha256;
    uint8_t hash[32];
    sha256_init(&sha256);
    digest(&sha256);
    sha256_end(&sha256, hash);
    (void)printf("digest %s: ", name);
    for (size_t i = 0; i < sizeof hash; i++) {
        (void)printf("%02x", hash[i]);
    }
    (void)printf("\n");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "arithmetic") == 0) {
        (void)puts(DPOT_U128_NATIVE ? "int128" : "portable");
        return 0;
    }
    const unsigned n_wrong = golden_check();
    print_digest("u128", digest_u128);
    print_digest("sampler", digest_sampler);
    print_digest("noise", digest_noise);
    print_digest("quantize", digest_quantize);
    print_digest("acceptance", digest_acceptance);
    print_digest("certificate", digest_certificate);
    return n_wrong > 0;
}
