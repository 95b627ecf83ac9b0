/* an_ledger.h - the privacy ledger on disk: append-only, hash-chained, synced after each record.
 *
 * File: the line "tombola ledger 2\n", then per record
 * magic u32 | length u32 | seq u64 | check 8 bytes | `length` bytes of record | chain head 32 bytes
 * little-endian; check = the first 8 bytes of SHA-256(head before it || magic || length || seq), so that a
 * damaged length cannot make later records look torn.  The head after a record is rd_chain's.
 *
 * A torn last record is the trace of a crash during an append: the file ends inside a header, or inside a
 * record with a complete header, or with zeros where a record would start.  That record was never
 * acknowledged, so it is dropped.  After any other damage a charge may be missing, and no program opens the
 * ledger. */
#pragma once

#include <stdbool.h>

#include "rd_record.h"

#define AN_LEDGER_MAGIC      "tombola ledger 2\n"
#define AN_LEDGER_MAGIC_LEN  17u
#define AN_LEDGER_RECORD     0x4c42544fu /* "OTBL" in ASCII */
#define AN_LEDGER_HEADER_LEN 24u
#define AN_LEDGER_FILE_MAX   ((size_t)1 << 30)

struct an_ledger;

/* Read and verify everything.  With write: create a missing file, cut a torn last record, and sync the
 * rest, which may end in a record that a killed process did not sync; the caller holds the lock of the
 * state directory.  Without write nothing changes, and a missing file is an empty ledger.  *torn: bytes of
 * the torn last record; 0 if there is none.  CM_EDATA: damage; err has the file, record and byte offset. */
CM_CHECK enum cm_rc an_ledger_open(
	const char *path, bool write, struct an_ledger **out, size_t *torn, struct cm_err *err);
void an_ledger_free(struct an_ledger *l);
/* Find out whether the file exists. */
CM_CHECK enum cm_rc an_ledger_exists(const char *path, bool *out, struct cm_err *err);

/* Append a record; sets r->seq.  The record is on disk when this returns CM_OK.  After any CM_EIO the ledger
 * refuses further records: whether the bytes are durable is unknown, and a second fsync may report success
 * wrongly. */
CM_CHECK enum cm_rc an_ledger_append(struct an_ledger *l, struct rd_record *r, struct cm_err *err);

/* Number of the last record and the head after it; valid until the next append. */
const struct rd_chain *an_ledger_chain(const struct an_ledger *l);
/* Find record seq (1..chain.seq): its bytes, its offset in the file, and the head after it.  Borrowed until
 * the next append. */
struct an_entry {
	const uint8_t *bytes;
	size_t len;
	uint64_t offset;
	uint8_t head[PR_HASH_LEN];
};
struct an_entry an_ledger_entry(const struct an_ledger *l, uint64_t seq);
/* Whether `point` is a point of this chain; seq 0 with a zero head is one. */
bool an_ledger_is_prefix(const struct an_ledger *l, const struct rd_chain *point);
