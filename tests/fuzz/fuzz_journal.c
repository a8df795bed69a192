/* A device's ledger and spool. Their checksums are corrected on the way in: the input is what
 * somebody with the install's key might have written. The first byte: bit 0 the file, bit 1 whether
 * checksums are corrected, bit 2 whether memory runs out, bit 3 whether the ledger was folded. */
#include "fuzz.h"
#include "storage/ledger.h"
#include "storage/spool.h"
#include "support/filesystem.h"

#include <string.h>

#define MAC_AT (DPOT_LEDGER_RECORD_LEN - DPOT_MAC_LEN)
#define NAME_MAC_AT 72
#define BODY_MAC_AT (DPOT_SPOOL_BODY_AT + 80)
#define INPUT_MAX 65536

static uint8_t bytes[INPUT_MAX + DPOT_HEADER_LEN];

static void mend_ledger(const struct dpot_install *install, size_t len)
{
    const uint8_t *previous = bytes + DPOT_HEADER_LEN - DPOT_MAC_LEN;
    for (size_t at = DPOT_HEADER_LEN; at + DPOT_LEDGER_RECORD_LEN <= len;
         at += DPOT_LEDGER_RECORD_LEN) {
        dpot_mac(install, previous, bytes + at, MAC_AT, bytes + at + MAC_AT);
        previous = bytes + at + MAC_AT;
    }
}

static void mend_spool(const struct dpot_install *install, size_t len)
{
    static const uint8_t none[DPOT_MAC_LEN];
    for (size_t at = DPOT_HEADER_LEN; at + DPOT_SPOOL_UNIT_LEN <= len; at += DPOT_SPOOL_UNIT_LEN) {
        uint8_t *unit = bytes + at;
        dpot_mac(install, none, unit, NAME_MAC_AT, unit + NAME_MAC_AT);
        dpot_mac(install, unit + NAME_MAC_AT, unit + DPOT_SPOOL_BODY_AT,
                 BODY_MAC_AT - DPOT_SPOOL_BODY_AT, unit + BODY_MAC_AT);
    }
}

static void read_ledger(struct test_filesystem *files, const struct dpot_install *install,
                        const struct dpot_allocator *heap)
{
    struct dpot_ledger ledger;
    bool is_current = false;
    dpot_ledger_init(&ledger, &files->filesystem, heap, install);
    require(dpot_ledger_open_file(&ledger) == DPOT_OK);
    dpot_status status = dpot_ledger_load(&ledger);
    any_status(status);
    if (status == DPOT_OK) {
        require(dpot_ledger_repair(&ledger) == DPOT_OK);
        require(dpot_ledger_is_current(&ledger, &is_current) == DPOT_OK && is_current);
    }
    if (status == DPOT_OK && ledger.n_records > 0) {
        const struct dpot_ledger_sums sums = ledger.sums;
        require(dpot_ledger_fold(&ledger) == DPOT_OK);
        require(dpot_ledger_is_current(&ledger, &is_current) == DPOT_OK && is_current);
        status = dpot_ledger_load(&ledger);
        require(status == DPOT_OK || status == DPOT_ERR_MEMORY);
        require(status != DPOT_OK ||
                memcmp(&ledger.sums.spent, &sums.spent, sizeof sums.spent) == 0);
    }
    dpot_ledger_close_file(&ledger);
    dpot_ledger_release(&ledger);
}

static void read_spool(struct test_filesystem *files, const struct dpot_install *install,
                       const struct dpot_allocator *heap)
{
    struct dpot_spool spool;
    bool is_current = false;
    dpot_spool_init(&spool, &files->filesystem, heap, install);
    require(dpot_spool_open_file(&spool) == DPOT_OK);
    dpot_status status = dpot_spool_load(&spool);
    any_status(status);
    if (status == DPOT_OK) {
        require(dpot_spool_repair(&spool) == DPOT_OK);
        require(dpot_spool_is_current(&spool, &is_current) == DPOT_OK && is_current);
        any_status(dpot_spool_compact(&spool, 0));
    }
    dpot_spool_close_file(&spool);
    dpot_spool_release(&spool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct test_filesystem files;
    struct test_allocator heap;
    struct dpot_install install = {.id = {1, 2, 3}};
    if (len < 1 || len - 1 > INPUT_MAX) {
        return 0;
    }
    const bool is_ledger = data[0] & 1, is_mended = data[0] & 2;
    const struct dpot_header header = {.generation = 1, .accountant = is_ledger};
    const size_t whole = is_mended ? DPOT_HEADER_LEN + len - 1 : len - 1;
    test_filesystem_init(&files, 1);
    test_allocator_init(&heap);
    if (data[0] & 4) {
        make_failing_allocator(&heap, len);
    }
    dpot_install_init_key(&install, NULL, 0);
    memcpy(bytes + (is_mended ? DPOT_HEADER_LEN : 0), data + 1, len - 1);
    if (is_mended) {
        const char *ledger_magic = data[0] & 8 ? "DPOTLDG2" : "DPOTLDG1";
        dpot_header_encode(&install, is_ledger ? ledger_magic : "DPOTSPL2", &header, bytes);
        (is_ledger ? mend_ledger : mend_spool)(&install, whole);
    }
    test_filesystem_put(&files, is_ledger ? DPOT_LEDGER_NAME : DPOT_SPOOL_NAME, bytes, whole);
    (is_ledger ? read_ledger : read_spool)(&files, &install, &heap.allocator);
    require(heap.bytes == 0);
    test_filesystem_release(&files);
    return 0;
}
