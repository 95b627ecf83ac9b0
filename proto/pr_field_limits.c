/* pr_field_limits.c - the table of limits: every bytes field and every repeated field of tombola.proto
 * has a row. */
#include "pr_field_limits.h"

#include <string.h>

#include "tombola.pb-c.h"

#define T(name) &tombola__v1__##name##__descriptor

/* A field whose value has exactly n bytes and may be absent; and one whose value must be present. */
#define FIXED(type, field, n)                 \
	{                                     \
		T(type), field, n, n, 1, 0, 0 \
	}
#define NEEDED(type, field, n)                \
	{                                     \
		T(type), field, n, n, 1, 0, 1 \
	}
#define UP_TO(type, field, n)                 \
	{                                     \
		T(type), field, 1, n, 1, 0, 1 \
	}

static const struct pr_limit limits[] = {
	FIXED(error, "round_id", PR_ROUND_ID_LEN),
	UP_TO(round, "descriptor", PR_DESCRIPTOR_MAX),
	NEEDED(round, "signature", PR_SIGNATURE_LEN),
	NEEDED(submit, "round_id", PR_ROUND_ID_LEN),
	{ T(submit), "pseudonyms", PR_PSEUDONYM_LEN, (size_t)PR_PSEUDONYM_LEN *PR_SUBMISSIONS_MAX,
		PR_PSEUDONYM_LEN, 0, 1 },
	UP_TO(submit, "sealed", PR_FRAME_MAX),
	{ T(submit), "salts", PR_HASH_LEN, (size_t)PR_HASH_LEN *PR_SUBMISSIONS_MAX, PR_HASH_LEN, 0, 1 },
	FIXED(submit, "mac", PR_MAC_LEN),
	FIXED(submit, "gateway", PR_HASH_LEN),
	NEEDED(get_manifest, "round_id", PR_ROUND_ID_LEN),
	NEEDED(get_proof, "round_id", PR_ROUND_ID_LEN),
	NEEDED(get_proof, "hashes", (size_t)PR_HASH_LEN *PR_PROOF_HASHES),
	NEEDED(proof, "round_id", PR_ROUND_ID_LEN),
	UP_TO(proof, "entries", PR_FRAME_MAX),
	NEEDED(receipt, "round_id", PR_ROUND_ID_LEN),
	UP_TO(receipt, "outcomes", PR_SUBMISSIONS_MAX),
	NEEDED(receipt, "signature", PR_SIGNATURE_LEN),
	FIXED(witness, "ledger_head", PR_HASH_LEN),
	FIXED(witness, "stated_head", PR_HASH_LEN),
	FIXED(witness, "stated_descriptor", PR_HASH_LEN),
	{ T(extend_ledger), "records", 1, PR_RECORD_MAX, 1, PR_RECORDS_MAX, 0 },
	FIXED(extend_ledger, "signature", PR_SIGNATURE_LEN),
	{ T(policy), "protocols", 1, PR_TEXT_MAX, 1, PR_PROTOCOLS_MAX, 0 },
	UP_TO(rehearse, "draft", PR_PLAN_MAX),
	NEEDED(rehearse, "signature", PR_SIGNATURE_LEN),
	NEEDED(rehearsal_answer, "draft_hash", PR_HASH_LEN),
	{ T(rehearsal_answer), "taken", 1, PR_TAKEN_MAX, 1, 0, 0 },
	{ T(rehearsal_answer), "faults", 0, PR_FRAME_MAX, 1, PR_FAULTS_MAX, 0 },
	{ T(rehearsed_certificate), "taken", 1, PR_TAKEN_MAX, 1, 0, 0 },
	{ T(rehearsed_certificate), "faults", 0, PR_FRAME_MAX, 1, PR_FAULTS_MAX, 0 },
	NEEDED(rehearsed, "draft_hash", PR_HASH_LEN),
	{ T(rehearsed), "taken", 1, PR_TAKEN_MAX, 1, 0, 0 },
	{ T(rehearsed), "faults", 0, PR_FRAME_MAX, 1, PR_FAULTS_MAX, 0 },
	{ T(rehearsed), "certificates", 0, PR_FRAME_MAX, 1, PR_REHEARSED_MAX, 0 },
	{ T(rehearsed), "entries", 0, PR_FRAME_MAX, 1, PR_ENTRIES_MAX, 0 },
	NEEDED(get_plan, "plan_hash", PR_HASH_LEN),
	UP_TO(signed_plan, "plan", PR_PLAN_MAX),
	NEEDED(signed_plan, "signature", PR_SIGNATURE_LEN),
	{ T(get_standing), "descriptor", 1, PR_DESCRIPTOR_MAX, 1, 0, 0 },
	FIXED(get_standing, "signature", PR_SIGNATURE_LEN),
	FIXED(get_standing, "gateway", PR_HASH_LEN),
	FIXED(standing, "descriptor_hash", PR_HASH_LEN),
	NEEDED(standing, "signature", PR_SIGNATURE_LEN),
	FIXED(standing, "mac", PR_MAC_LEN),
	UP_TO(announce, "descriptor", PR_DESCRIPTOR_MAX),
	NEEDED(announce, "signature", PR_SIGNATURE_LEN),
	NEEDED(announced, "round_id", PR_ROUND_ID_LEN),
	NEEDED(put_payload, "hash", PR_HASH_LEN),
	{ T(put_payload), "data", 1, PR_PAYLOAD_PART, 1, 0, 0 },
	NEEDED(payload_held, "hash", PR_HASH_LEN),
	NEEDED(get_payload, "round_id", PR_ROUND_ID_LEN),
	NEEDED(payload, "round_id", PR_ROUND_ID_LEN),
	UP_TO(payload, "data", PR_PAYLOAD_PART),
	NEEDED(on_behalf, "key_hash", PR_HASH_LEN),
	{ T(intake_share), "descriptor", 1, PR_DESCRIPTOR_MAX, 1, 0, 0 },
	FIXED(intake_share, "keys", 2 * (size_t)PR_HASH_LEN),
	NEEDED(intake_claim, "key_hash", PR_HASH_LEN),
	NEEDED(intake_claimed, "key_hash", PR_HASH_LEN),
	{ T(intake_batch), "receipts", PR_RECEIPT_LEN, (size_t)PR_RECEIPT_LEN *PR_RECEIPTS_MAX,
		PR_RECEIPT_LEN, 0, 0 },
	{ T(intake_batch), "standings", PR_STANDING_LEN, (size_t)PR_STANDING_LEN *PR_RECEIPTS_MAX,
		PR_STANDING_LEN, 0, 0 },
	{ T(intake_batch), "left_out", PR_LEFT_OUT_LEN, (size_t)PR_LEFT_OUT_LEN *PR_RECEIPTS_MAX,
		PR_LEFT_OUT_LEN, 0, 0 },
	{ T(intake_signed), "signatures", PR_SIGNATURE_LEN, (size_t)PR_SIGNATURE_LEN *PR_RECEIPTS_MAX,
		PR_SIGNATURE_LEN, 0, 0 },
	NEEDED(await_manifest, "round_id", PR_ROUND_ID_LEN),
	UP_TO(signed_manifest, "manifest", PR_MANIFEST_MAX),
	NEEDED(signed_manifest, "signature", PR_SIGNATURE_LEN),
	UP_TO(release, "charge", PR_CHARGE_MAX),
	NEEDED(release, "signature", PR_SIGNATURE_LEN),
	NEEDED(released, "round_id", PR_ROUND_ID_LEN),
	NEEDED(pull, "round_id", PR_ROUND_ID_LEN),
	NEEDED(segment, "round_id", PR_ROUND_ID_LEN),
	{ T(segment), "sealed", 1, PR_FRAME_MAX, 1, 0, 0 },
	NEEDED(settle, "round_id", PR_ROUND_ID_LEN),
	NEEDED(settled, "round_id", PR_ROUND_ID_LEN),

	{ T(query), "categories", 1, PR_TEXT_MAX, 1, PR_CATEGORIES_MAX, 0 },
	{ T(query), "columns", 0, PR_DESCRIPTOR_MAX, 1, PR_COLUMNS_MAX, 0 },
	{ T(query), "marginals", 0, 0, 1, PR_SLOTS_MAX, 0 },
	{ T(query), "probabilities", 0, 0, 1, PR_PROBABILITIES_MAX, 0 },
	{ T(column), "categories", 1, PR_TEXT_MAX, 1, PR_CATEGORIES_MAX, 0 },
	UP_TO(randomizer, "parameters", PR_PARAMETERS_MAX),
	{ T(computing), "parameters", 1, PR_COMPUTING_MAX, 1, 0, 0 },
	FIXED(computing, "program_hash", PR_HASH_LEN),
	{ T(computing), "fields", 1, PR_TEXT_MAX, 1, PR_COMPUTING_FIELDS, 0 },
	{ T(shuffler_part), "tag_least", 0, 0, 1, PR_SLOTS_MAX, 0 },
	NEEDED(descriptor, "round_id", PR_ROUND_ID_LEN),
	FIXED(descriptor, "previous", PR_HASH_LEN),
	NEEDED(descriptor, "hpke_key", PR_HPKE_KEY_LEN),
	NEEDED(descriptor, "plan_hash", PR_HASH_LEN),
	FIXED(descriptor, "ledger_head", PR_HASH_LEN),
	FIXED(descriptor, "payload_hash", PR_HASH_LEN),
	{ T(descriptor), "critical", 1, PR_TEXT_MAX, 1, PR_CRITICAL_MAX, 0 },
	FIXED(descriptor, "void_manifest", PR_HASH_LEN),
	FIXED(plan, "previous", PR_HASH_LEN),
	NEEDED(plan, "file_hash", PR_HASH_LEN),
	{ T(plan), "entries", 0, PR_PLAN_MAX, 1, PR_ENTRIES_MAX, 0 },
	{ T(plan), "refused", 0, PR_PLAN_MAX, 1, PR_ENTRIES_MAX, 0 },
	NEEDED(bucket, "root", PR_HASH_LEN),
	NEEDED(manifest, "round_id", PR_ROUND_ID_LEN),
	NEEDED(manifest, "descriptor_hash", PR_HASH_LEN),
	{ T(manifest), "buckets", 0, PR_MANIFEST_MAX, 1, PR_BUCKETS_MAX, 0 },
	FIXED(manifest, "tree", PR_HASH_LEN),
	{ T(manifest), "left_out", 0, 0, 1, PR_LEFT_OUT_MAX, 0 },
	NEEDED(opening, "name", PR_HASH_LEN),
	{ T(opening), "frame_path", PR_HASH_LEN, PR_OPENING_MAX, PR_HASH_LEN, 0, 0 },
	NEEDED(opening, "signature", PR_SIGNATURE_LEN),
	NEEDED(opening, "blind", PR_HASH_LEN),
	NEEDED(opening, "hash", PR_HASH_LEN),
	{ T(opening), "device_path", PR_HASH_LEN, PR_OPENING_MAX, PR_HASH_LEN, 0, 0 },
	{ T(evidence), "descriptor", 1, PR_DESCRIPTOR_MAX, 1, 0, 0 },
	{ T(evidence), "entry", 1, PR_ENTRY_MAX, 1, 0, 0 },
	{ T(evidence), "accepted", 0, PR_OPENING_MAX, 1, PR_PROOF_HASHES, 0 },
	NEEDED(charge, "round_id", PR_ROUND_ID_LEN),
	NEEDED(charge, "descriptor_hash", PR_HASH_LEN),
	NEEDED(charge, "manifest_hash", PR_HASH_LEN),
	NEEDED(charge, "ledger_head", PR_HASH_LEN),
	FIXED(record, "plan_hash", PR_HASH_LEN),
	FIXED(record, "round_id", PR_ROUND_ID_LEN),
	{ T(record), "descriptor", 1, PR_DESCRIPTOR_MAX, 1, 0, 0 },
	FIXED(record, "manifest_hash", PR_HASH_LEN),
	FIXED(record, "result_hash", PR_HASH_LEN),
	{ T(record), "plan", 1, PR_PLAN_MAX, 1, 0, 0 },
	FIXED(record, "signature", PR_SIGNATURE_LEN),
};

const struct pr_limit *pr_limits_of(const ProtobufCMessageDescriptor *type, size_t *n)
{
	size_t rows = sizeof limits / sizeof limits[0], first = 0, end;

	while (first < rows && limits[first].type != type)
		first++;
	for (end = first; end < rows && limits[end].type == type;)
		end++;
	*n = end - first;
	return limits + first;
}

const struct pr_limit *pr_limit_of(
	const struct pr_limit *row, size_t n, const ProtobufCFieldDescriptor *field)
{
	/* Most fields are numbers and texts, for which the table has no rows. */
	if (field->type != PROTOBUF_C_TYPE_BYTES && field->label != PROTOBUF_C_LABEL_REPEATED)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (strcmp(row[i].field, field->name) == 0)
			return &row[i];
	return NULL;
}
