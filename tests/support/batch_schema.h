/* A ReportBatch as protobuf-c and the schema read it: unpacked, packed again and compared. Slow,
 * and an oracle for the reader in proto/wire_report_read.c. */
#ifndef DPOT_TESTS_SUPPORT_BATCH_SCHEMA_H
#define DPOT_TESTS_SUPPORT_BATCH_SCHEMA_H

#include "proto/wire_report.h"

/* True when `status` and *batch, as dpot_wire_batch_decode(data, len) left them, are what the
 * schema says. */
bool batch_schema_agrees(const void *data, size_t len, dpot_status status,
                         const struct dpot_batch *batch);

#endif
