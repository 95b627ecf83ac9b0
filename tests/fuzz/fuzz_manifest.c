/* fuzz_manifest.c - any bytes, properly signed, as a manifest and as a charge: a key may be in bad hands. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_sign.h"
#include "rd_manifest.h"
#include "unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t key = 1;

static void require(int truth)
{
	if (!truth)
		abort();
}

/* The round of tests/data/golden/manifest.json. */
static struct rd_descriptor golden_round(void)
{
	struct rd_descriptor d = { .min_reports = 1000, .target = 58000, .messages_per_client = 1 };

	for (size_t i = 0; i < sizeof d.round_id; i++)
		d.round_id[i] = (uint8_t)(16 + 7 * i);
	for (size_t i = 0; i < sizeof d.hash; i++)
		d.hash[i] = (uint8_t)(30 + 7 * i);
	return d;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd_descriptor d = golden_round();
	uint8_t signature[CR_SIGN_LEN];
	struct rd_manifest m;
	struct rd_charge c;
	struct cm_err err;
	enum cm_rc rc;

	unpack_as_read(&tombola__v1__manifest__descriptor, data, size, PR_MANIFEST_MAX);
	fuzz_signature(&key, RD_PURPOSE_MANIFEST, data, size, signature);
	rc = rd_manifest_verify(data, size, signature, fuzz_verifier(&key), &d, &m, &err);
	if (rc == CM_OK) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < m.buckets; i++)
			sum += m.bucket[i].messages;
		require(sum == m.messages && (m.is_void || m.participants >= d.min_reports));
	}
	rd_manifest_fini(&m);
	fuzz_signature(&key, RD_PURPOSE_CHARGE, data, size, signature);
	rc = rd_charge_verify(data, size, signature, fuzz_verifier(&key), &c, &err);
	require(rc == CM_OK || rc == CM_EPROTO);
	return 0;
}
