/* pr_limit.c - the table of limits: every bytes field and every repeated field of tombola.proto has a row. */
#include "pr_scan.h"

#include <string.h>

#include "tombola.pb-c.h"

#define T(name) &tombola__v1__##name##__descriptor

/* A value of exactly n bytes, which may be absent; or must be there. */
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
	NEEDED(receipt, "round_id", PR_ROUND_ID_LEN),
	UP_TO(receipt, "outcomes", PR_SUBMISSIONS_MAX),
	NEEDED(receipt, "signature", PR_SIGNATURE_LEN),
	FIXED(witness, "ledger_head", PR_HASH_LEN),
	{ T(extend_ledger), "records", 1, PR_RECORD_MAX, 1, PR_RECORDS_MAX, 0 },
	UP_TO(announce, "descriptor", PR_DESCRIPTOR_MAX),
	NEEDED(announce, "signature", PR_SIGNATURE_LEN),
	NEEDED(announced, "round_id", PR_ROUND_ID_LEN),
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
	{ T(randomizer), "tag_least", 0, 0, 1, PR_SLOTS_MAX, 0 },
	{ T(randomizer), "slots", 0, PR_DESCRIPTOR_MAX, 1, PR_SLOTS_MAX, 0 },
	NEEDED(descriptor, "round_id", PR_ROUND_ID_LEN),
	FIXED(descriptor, "previous", PR_HASH_LEN),
	NEEDED(descriptor, "hpke_key", PR_HPKE_KEY_LEN),
	NEEDED(descriptor, "plan_hash", PR_HASH_LEN),
	FIXED(descriptor, "ledger_head", PR_HASH_LEN),
	FIXED(descriptor, "payload_hash", PR_HASH_LEN),
	{ T(descriptor), "critical", 1, PR_TEXT_MAX, 1, PR_CRITICAL_MAX, 0 },
	NEEDED(bucket, "root", PR_HASH_LEN),
	NEEDED(manifest, "round_id", PR_ROUND_ID_LEN),
	NEEDED(manifest, "descriptor_hash", PR_HASH_LEN),
	{ T(manifest), "buckets", 0, PR_MANIFEST_MAX, 1, PR_BUCKETS_MAX, 0 },
	NEEDED(charge, "round_id", PR_ROUND_ID_LEN),
	NEEDED(charge, "descriptor_hash", PR_HASH_LEN),
	NEEDED(charge, "manifest_hash", PR_HASH_LEN),
	NEEDED(charge, "ledger_head", PR_HASH_LEN),
	FIXED(record, "plan_hash", PR_HASH_LEN),
	FIXED(record, "round_id", PR_ROUND_ID_LEN),
	{ T(record), "descriptor", 1, PR_DESCRIPTOR_MAX, 1, 0, 0 },
	FIXED(record, "manifest_hash", PR_HASH_LEN),
	FIXED(record, "result_hash", PR_HASH_LEN),
};

const struct pr_limit *pr_limit_of(
	const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *field)
{
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		if (limits[i].type == type && strcmp(limits[i].field, field->name) == 0)
			return &limits[i];
	return NULL;
}
