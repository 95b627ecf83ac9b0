/* test_charge.c - charges: what the shuffler releases a batch for, signed and in one reading only. */
#include "wire_bytes.h"

#include "pr_msg.h"
#include "rd_manifest.h"
#include "round_keys.h"

static struct cm_err err;
static struct round_keys shuffler;

static void charge_bytes(struct cm_buf *b, uint64_t seq)
{
	struct rd_charge c = { .ledger_seq = seq };

	memset(c.round_id, 1, sizeof c.round_id);
	memset(c.descriptor_hash, 2, sizeof c.descriptor_hash);
	memset(c.manifest_hash, 3, sizeof c.manifest_hash);
	memset(c.ledger_head, 4, sizeof c.ledger_head);
	cm_buf_init(b, 4096);
	assert_int_equal(rd_charge_encode(&c, b, &err), CM_OK);
}

static void a_charge_is_read_back_and_any_change_refused(void **state)
{
	uint8_t signature[CR_SIGN_LEN];
	struct rd_charge c;
	struct cm_buf b;

	(void)state;
	charge_bytes(&b, 3);
	assert_int_equal(cr_sign(shuffler.signer, RD_PURPOSE_CHARGE, b.data, b.len, signature, &err), CM_OK);
	assert_int_equal(rd_charge_verify(b.data, b.len, signature, shuffler.verifier, &c, &err), CM_OK);
	assert_int_equal(c.ledger_seq, 3);
	assert_int_equal(c.round_id[15], 1);
	assert_int_equal(c.descriptor_hash[31], 2);
	assert_int_equal(c.manifest_hash[31], 3);
	assert_int_equal(c.ledger_head[31], 4);
	for (size_t i = 0; i < b.len; i++) {
		b.data[i] ^= 1;
		assert_int_equal(
			rd_charge_verify(b.data, b.len, signature, shuffler.verifier, &c, &err), CM_EPERM);
		b.data[i] ^= 1;
	}
	assert_int_equal(
		cr_sign(shuffler.signer, RD_PURPOSE_MANIFEST, b.data, b.len, signature, &err), CM_OK);
	assert_int_equal(rd_charge_verify(b.data, b.len, signature, shuffler.verifier, &c, &err), CM_EPERM);
	assert_int_equal(rd_charge_verify(b.data, PR_CHARGE_MAX + 1, signature, shuffler.verifier, &c, &err),
		CM_EPROTO);
	cm_buf_fini(&b);
}

static void a_signed_charge_without_a_field_or_before_any_reservation_is_refused(void **state)
{
	uint8_t signature[CR_SIGN_LEN];
	struct rd_charge c;
	struct cm_buf b;

	(void)state;
	charge_bytes(&b, 2);
	assert_int_equal(cr_sign(shuffler.signer, RD_PURPOSE_CHARGE, b.data, b.len, signature, &err), CM_OK);
	assert_int_equal(rd_charge_verify(b.data, b.len, signature, shuffler.verifier, &c, &err), CM_EPROTO);
	cm_buf_fini(&b);
	charge_bytes(&b, 3);
	b.len -= 34; /* without the head */
	assert_int_equal(cr_sign(shuffler.signer, RD_PURPOSE_CHARGE, b.data, b.len, signature, &err), CM_OK);
	assert_int_equal(rd_charge_verify(b.data, b.len, signature, shuffler.verifier, &c, &err), CM_EPROTO);
	assert_non_null(strstr(err.msg, "ledger_head"));
	cm_buf_fini(&b);
}

static int make_keys(void **state)
{
	(void)state;
	round_keys_make(&shuffler);
	return 0;
}

static int free_keys(void **state)
{
	(void)state;
	round_keys_free(&shuffler);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_charge_is_read_back_and_any_change_refused),
		cmocka_unit_test(a_signed_charge_without_a_field_or_before_any_reservation_is_refused),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
