/* an_ledger.h - the privacy ledger on disk: append-only, hash-chained, fsynced per record.
 *
 * File: the line "tombola ledger 1\n", then per record
 *     magic u32 | length u32 | seq u64 | check 8 bytes | `length` bytes of record | chain head 32 bytes
 * little-endian; check = the first 8 bytes of SHA-256(head before it || magic || length || seq), so that a
 * damaged length cannot make later records look torn.  The head after a record is rd_chain's.
 *
 * A torn last record is what a crash during an append leaves: the file ends inside a header, or inside a
 * record whose header is whole, or in nothing but zeros where a record would start.  It was never
 * acknowledged, so it is dropped.  Any other damage means that a charge may be lost: nothing opens such a
 * ledger. */
#pragma once

#include <stdbool.h>

#include "rd_record.h"

#define AN_LEDGER_MAGIC      "tombola ledger 1\n"
#define AN_LEDGER_MAGIC_LEN  17u
#define AN_LEDGER_RECORD     0x4c42544fu /* "OTBL" */
#define AN_LEDGER_HEADER_LEN 24u
#define AN_LEDGER_FILE_MAX   ((size_t)1 << 30)

struct an_ledger;

/* Read and verify everything.  write: create the file when there is none, cut a torn tail, make what is there
 * durable (it may be a killed process's unsynced last record); the caller holds the state directory's lock.
 * Otherwise nothing is changed and a missing file is an empty ledger. *torn: bytes of the torn last record, 0
 * for none.  CM_EDATA with file, record and byte offset for damage.
 */
CM_CHECK enum cm_rc an_ledger_open(
	const char *path, bool write, struct an_ledger **out, size_t *torn, struct cm_err *err);
void an_ledger_free(struct an_ledger *l);
/* Is there a file? */
CM_CHECK enum cm_rc an_ledger_exists(const char *path, bool *out, struct cm_err *err);

/* Append a record durably: r->seq is filled in.  It is on disk when this returns CM_OK.  After any CM_EIO the
 * ledger takes no more records: whether the bytes are durable is unknown, and a second fsync may lie. */
CM_CHECK enum cm_rc an_ledger_append(struct an_ledger *l, struct rd_record *r, struct cm_err *err);

/* Last record's number and the head after it; valid until the next append. */
const struct rd_chain *an_ledger_chain(const struct an_ledger *l);
/* Record seq (1..chain.seq): its bytes, where it starts in the file, and the head after it.  Borrowed until
 * the next append. */
struct an_entry {
	const uint8_t *bytes;
	size_t len;
	uint64_t offset;
	uint8_t head[PR_HASH_LEN];
};
struct an_entry an_ledger_entry(const struct an_ledger *l, uint64_t seq);
/* Is this a point of our chain?  seq 0 with a zero head is. */
bool an_ledger_is_prefix(const struct an_ledger *l, const struct rd_chain *point);
