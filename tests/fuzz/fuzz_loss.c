/* fuzz_loss.c - any bytes under a digest that fits, and without one, as the text of a round's loss that
 * ledgers store.  What is accepted is a loss that a round can have, and has a text that says the same. */
#include <stdlib.h>
#include <string.h>

#include "cr_hash.h"
#include "rd_loss_text.h"

#define DIGITS 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void one(const char *text, size_t len)
{
	struct pt_loss loss, same;
	struct cm_buf again;
	struct cm_err err;
	const char *why;
	enum cm_rc rc = rd_loss_take(text, len, &loss, &err);

	require(rc == CM_OK || rc == CM_EDATA);
	if (rc != CM_OK)
		return;
	cm_buf_init(&again, RD_LOSS_TEXT_MAX);
	require(loss.parts >= 1 && loss.parts <= PT_PARTS_MAX);
	require(rd_loss_put(&loss, &again, &err) == CM_OK);
	require(rd_loss_take((const char *)again.data, again.len, &same, &err) == CM_OK);
	require(same.parts == loss.parts);
	for (size_t i = 0; i < loss.parts; i++) {
		require(acct_round_check(&loss.part[i], &why) == ACCT_OK);
		require(acct_round_equal(&loss.part[i], &same.part[i]) &&
			loss.part[i].count == same.part[i].count);
	}
	cm_buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t hash[CR_HASH_LEN];
	char *text, hex[DIGITS + 1];

	one((const char *)data, size);
	text = malloc(size + DIGITS);
	require(text != NULL);
	memcpy(text, data, size);
	cr_sha256(data, size, hash);
	cm_hex(hash, DIGITS / 2, hex);
	memcpy(text + size, hex, DIGITS);
	one(text, size + DIGITS);
	free(text);
	return 0;
}
