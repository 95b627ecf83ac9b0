/* an_witness.c - checks that our ledger contains what the shuffler and its clients have seen of it. */
#include "an_witness.h"

#include <string.h>

#include "cm_fault.h"
#include "cr_hash.h"
#include "rd_record.h"

/* Check that the shuffler's last known record is a point of our chain.  If not, our ledger is an older copy
 * or another ledger. */
enum cm_rc an_witness_seen(
	const struct an_ledger *ours, const Tombola__V1__Witness *w, struct rd_chain *out, struct cm_err *err)
{
	const struct rd_chain *end = an_ledger_chain(ours);
	struct rd_chain seen = { .seq = w->ledger_seq };

	if (w->ledger_head.len != (seen.seq > 0 ? PR_HASH_LEN : 0))
		return cm_fail(err, CM_EPROTO, "the shuffler's witness is malformed");
	if (seen.seq > 0)
		memcpy(seen.head, w->ledger_head.data, PR_HASH_LEN);
	if (CM_CHECKED("analyzer.ledger.witness") && !an_ledger_is_prefix(ours, &seen))
		return seen.seq > end->seq
			       ? cm_fail(err, CM_EPERM,
					 "the shuffler has seen ledger record %llu, this ledger ends at "
					 "%llu: restored from an older copy",
					 (unsigned long long)seen.seq, (unsigned long long)end->seq)
			       : cm_fail(err, CM_EPERM,
					 "the shuffler has seen another ledger record %llu than this "
					 "ledger's: not the ledger of this population",
					 (unsigned long long)seen.seq);
	*out = seen;
	return CM_OK;
}

/* Whether this record reserves a descriptor with this hash. */
static bool reserves(const struct an_ledger *l, uint64_t seq, const ProtobufCBinaryData *hash)
{
	struct an_entry e = an_ledger_entry(l, seq);
	struct rd_record record;
	struct cm_err ignored;
	uint8_t is[PR_HASH_LEN];
	bool same;

	if (hash->len != PR_HASH_LEN || rd_record_decode(e.bytes, e.len, &record, &ignored) != CM_OK)
		return false;
	cr_sha256(record.descriptor.data, record.descriptor.len, is);
	same = record.kind == RD_RESERVE && memcmp(is, hash->data, PR_HASH_LEN) == 0;
	rd_record_fini(&record);
	return same;
}

/* A client stated a descriptor of ours that follows this point.  A ledger without it was restored from an
 * older copy, and every further record would create a fork. */
enum cm_rc an_witness_stated(const struct an_ledger *ours, const Tombola__V1__Witness *w, struct cm_err *err)
{
	const struct rd_chain *end = an_ledger_chain(ours);
	struct rd_chain stated = { .seq = w->stated_seq };

	if (w->stated_head.len == 0 || !CM_CHECKED("analyzer.ledger.stated"))
		return CM_OK;
	memcpy(stated.head, w->stated_head.data, PR_HASH_LEN);
	if (stated.seq >= end->seq)
		return cm_fail(err, CM_EPERM,
			"a client has seen a descriptor after ledger record %llu, this ledger ends at %llu: "
			"restored from an older copy",
			(unsigned long long)stated.seq, (unsigned long long)end->seq);
	if (!an_ledger_is_prefix(ours, &stated) || !reserves(ours, stated.seq + 1, &w->stated_descriptor))
		return cm_fail(err, CM_EPERM,
			"a client has seen another descriptor after ledger record %llu than this ledger has: "
			"restored from an older copy, and written on from there",
			(unsigned long long)stated.seq);
	return CM_OK;
}
