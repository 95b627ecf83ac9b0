/* test_record.c - ledger records and their hash chain. */
#include "wire_bytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cr_hash.h"
#include "pr_msg.h"
#include "rd_record.h"

static struct cm_err err;
static uint8_t some_bytes[PR_DESCRIPTOR_MAX];

static Tombola__V1__Record blank(unsigned kind, uint64_t seq)
{
	Tombola__V1__Record w = TOMBOLA__V1__RECORD__INIT;

	memset(some_bytes, 0x5a, sizeof some_bytes);
	w.kind = (Tombola__V1__RecordKind)kind;
	w.seq = seq;
	w.time_ms = 1764000000000;
	if (kind != RD_OPEN && kind != RD_PLAN)
		w.round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, some_bytes };
	return w;
}

/* A record of each kind with every field its kind must have. */
static Tombola__V1__Record sample(unsigned kind)
{
	Tombola__V1__Record w = blank(kind, kind == RD_OPEN ? 1 : 2);
	const ProtobufCBinaryData hash = { PR_HASH_LEN, some_bytes };

	switch (kind) {
	case RD_OPEN:
		w.population = (char *)"shuttle";
		w.unit = (char *)"device";
		w.epsilon_limit = 1.0;
		w.delta = 1e-6;
		break;
	case RD_PLAN:
		w.plan = (ProtobufCBinaryData){ 500, some_bytes };
		w.signature = (ProtobufCBinaryData){ CR_SIGN_LEN, some_bytes };
		break;
	case RD_RESERVE:
		w.plan_hash = hash;
		w.descriptor = (ProtobufCBinaryData){ 500, some_bytes };
		w.epsilon_round = w.epsilon_total = 0.25;
		w.plan_round = 1;
		break;
	case RD_CHARGE:
		w.manifest_hash = hash;
		w.participants = 1200;
		w.epsilon_round = w.epsilon_total = 0.25;
		break;
	case RD_SETTLE:
		w.result_hash = hash;
		break;
	case RD_VOID:
		w.reason = (char *)"12 of 1000 took part";
		break;
	default:
		w.plan_hash = hash;
		w.reason = (char *)"over the budget";
		w.query = (char *)"engine.mode";
		w.plan_round = 6;
		w.epsilon_round = w.epsilon_total = INFINITY;
	}
	return w;
}

static enum cm_rc decode(const Tombola__V1__Record *w)
{
	struct cm_buf b;
	struct rd_record r;
	enum cm_rc rc;

	cm_buf_init(&b, 1u << 20);
	assert_int_equal(pr_doc_encode(&w->base, &b, &err), CM_OK);
	rc = rd_record_decode(b.data, b.len, &r, &err);
	rd_record_fini(&r);
	cm_buf_fini(&b);
	return rc;
}

#define REFUSED(w, word)                                                  \
	do {                                                              \
		assert_int_equal(decode(&(w)), CM_EDATA);                 \
		if (!strstr(err.msg, word))                               \
			fail_msg("'%s' does not name %s", err.msg, word); \
	} while (0)

static void a_record_of_each_kind_survives_its_encoding(void **state)
{
	(void)state;
	for (unsigned kind = RD_OPEN; kind <= RD_PLAN; kind++) {
		Tombola__V1__Record w = sample(kind);
		struct cm_buf a, b;
		struct rd_record r;

		cm_buf_init(&a, 1u << 20);
		cm_buf_init(&b, 1u << 20);
		assert_int_equal(pr_doc_encode(&w.base, &a, &err), CM_OK);
		if (rd_record_decode(a.data, a.len, &r, &err) != CM_OK)
			fail_msg("kind %u: %s", kind, err.msg);
		assert_int_equal(r.kind, kind);
		assert_int_equal(r.descriptor.len, kind == RD_RESERVE ? 500 : 0);
		assert_int_equal(r.plan.len, kind == RD_PLAN ? 500 : 0);
		assert_int_equal(rd_record_encode(&r, &b, &err), CM_OK);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
		rd_record_fini(&r);
		cm_buf_fini(&a);
		cm_buf_fini(&b);
	}
}

static void a_record_without_a_field_of_its_kind_is_refused(void **state)
{
	(void)state;
	for (unsigned kind = RD_OPEN; kind <= RD_PLAN; kind++) {
		const Tombola__V1__Record whole = sample(kind), none = TOMBOLA__V1__RECORD__INIT;
		Tombola__V1__Record w;
		unsigned removed = 0;

#define WITHOUT(field, value)                                                                            \
	w = whole;                                                                                       \
	w.field = value;                                                                                 \
	if (memcmp(&w.field, &whole.field, sizeof w.field) != 0 && strstr(#field, "epsilon_") == NULL) { \
		REFUSED(w, #field);                                                                      \
		removed++;                                                                               \
	}
		WITHOUT(population, none.population)
		WITHOUT(plan, (ProtobufCBinaryData){ 0 })
		WITHOUT(signature, (ProtobufCBinaryData){ 0 })
		WITHOUT(unit, none.unit)
		WITHOUT(delta, 0.0)
		WITHOUT(plan_hash, (ProtobufCBinaryData){ 0 })
		WITHOUT(round_id, (ProtobufCBinaryData){ 0 })
		WITHOUT(descriptor, (ProtobufCBinaryData){ 0 })
		WITHOUT(manifest_hash, (ProtobufCBinaryData){ 0 })
		WITHOUT(participants, 0)
		WITHOUT(result_hash, (ProtobufCBinaryData){ 0 })
		WITHOUT(reason, none.reason)
		WITHOUT(plan_round, 0)
		WITHOUT(query, none.query)
		assert_true(removed >= 2);
	}
}

static void a_record_with_a_field_of_another_kind_is_refused(void **state)
{
	Tombola__V1__Record w;

	(void)state;
	w = sample(RD_OPEN);
	w.round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, some_bytes };
	REFUSED(w, "round_id");
	w = sample(RD_RESERVE);
	w.participants = 5;
	REFUSED(w, "participants");
	w = sample(RD_CHARGE);
	w.descriptor = (ProtobufCBinaryData){ 10, some_bytes };
	REFUSED(w, "descriptor");
	w = sample(RD_SETTLE);
	w.epsilon_total = 0.1;
	REFUSED(w, "epsilon_total");
	w = sample(RD_VOID);
	w.result_hash = (ProtobufCBinaryData){ PR_HASH_LEN, some_bytes };
	REFUSED(w, "result_hash");
	w = sample(RD_REFUSE);
	w.manifest_hash = (ProtobufCBinaryData){ PR_HASH_LEN, some_bytes };
	REFUSED(w, "manifest_hash");
	w = sample(RD_PLAN);
	w.plan_hash = (ProtobufCBinaryData){ PR_HASH_LEN, some_bytes };
	REFUSED(w, "plan_hash");
	w = sample(RD_RESERVE);
	w.plan = (ProtobufCBinaryData){ 10, some_bytes };
	REFUSED(w, "plan");
	w = sample(RD_CHARGE);
	w.signature = (ProtobufCBinaryData){ CR_SIGN_LEN, some_bytes };
	REFUSED(w, "signature");
}

static void a_settled_round_may_say_why_it_has_no_result(void **state)
{
	Tombola__V1__Record w = sample(RD_SETTLE);

	(void)state;
	w.reason = (char *)"lost";
	assert_int_equal(decode(&w), CM_OK);
	w.result_hash = (ProtobufCBinaryData){ 0 };
	REFUSED(w, "result_hash");
	w = sample(RD_CHARGE);
	w.reason = (char *)"lost";
	REFUSED(w, "reason");
}

static void numbers_out_of_range_are_refused(void **state)
{
	static const double bad[] = { -1.0, -0x1p-1074, (double)NAN, (double)INFINITY, (double)-INFINITY };
	Tombola__V1__Record w;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		w = sample(RD_CHARGE);
		w.epsilon_round = bad[i];
		REFUSED(w, "epsilon_round");
		w = sample(RD_RESERVE);
		w.epsilon_total = bad[i];
		REFUSED(w, "epsilon_total");
		w = sample(RD_OPEN);
		w.epsilon_limit = bad[i];
		REFUSED(w, "epsilon_limit");
		w = sample(RD_OPEN);
		w.delta = bad[i];
		REFUSED(w, "delta");
	}
	w = sample(RD_OPEN);
	w.delta = 1.0;
	REFUSED(w, "delta");
	w = sample(RD_OPEN);
	w.epsilon_limit = 0.0;
	REFUSED(w, "epsilon_limit");
	w = sample(RD_REFUSE);
	w.epsilon_total = (double)NAN;
	REFUSED(w, "epsilon_total");
	w = sample(RD_CHARGE);
	w.participants = PR_ROUND_REPORTS_MAX + UINT64_C(1);
	REFUSED(w, "participants");
	w = sample(RD_CHARGE);
	w.time_ms = -1;
	REFUSED(w, "time_ms");
}

static void kinds_and_numbers_of_records_must_agree(void **state)
{
	Tombola__V1__Record w = sample(RD_OPEN);

	(void)state;
	w.seq = 2; /* only the first record opens a ledger */
	REFUSED(w, "seq");
	w = sample(RD_CHARGE);
	w.seq = 1;
	REFUSED(w, "seq");
	w.seq = 0;
	REFUSED(w, "seq");
	for (int kind = -3; kind < 12; kind++) {
		if (kind >= RD_OPEN && kind <= RD_PLAN)
			continue;
		w = sample(RD_CHARGE);
		w.kind = (Tombola__V1__RecordKind)kind;
		REFUSED(w, "kind");
	}
}

static void text_that_is_no_name_or_not_printable_is_refused(void **state)
{
	static const char *const names[] = { "Shuttle", "a b", "../x", ".x", "-x", "a/b", "caf\xc3\xa9",
		"a\nb" };
	static const char *const texts[] = { "two\nlines", "bell\a", "esc\x1b[2J", "del\x7f", "c1\xc2\x9b",
		"rtl\xe2\x80\xae", "isolate\xe2\x81\xa6", "para\xe2\x80\xa9" };
	Tombola__V1__Record w;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		w = sample(RD_OPEN);
		w.population = (char *)(uintptr_t)names[i];
		REFUSED(w, "population");
		w = sample(RD_OPEN);
		w.unit = (char *)(uintptr_t)names[i];
		REFUSED(w, "unit");
		w = sample(RD_REFUSE);
		w.query = (char *)(uintptr_t)names[i];
		REFUSED(w, "query");
	}
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		w = sample(RD_VOID);
		w.reason = (char *)(uintptr_t)texts[i];
		REFUSED(w, "reason");
	}
	/* The message about a ledger of the version before says how to go on. */
	w = sample(RD_OPEN);
	w.plan_hash = (ProtobufCBinaryData){ PR_HASH_LEN, some_bytes };
	REFUSED(w, "a new name");
	w = sample(RD_OPEN);
	w.unit = (char *)"a-unit-of-more-than-thirty-two-bytes";
	REFUSED(w, "unit");
}

static void a_reason_cut_inside_a_character_does_not_spoil_the_ledger(void **state)
{
	struct rd_record r = { .kind = RD_VOID, .seq = 2, .time_ms = 1764000000000 }, back;
	struct cm_buf b;

	(void)state;
	memset(r.round_id, 7, sizeof r.round_id);
	/* A longer text as snprintf cuts it. */
	(void)snprintf(r.reason, sizeof r.reason, "refused: %.4s\n", "caf\xc3\xa9");
	cm_buf_init(&b, PR_RECORD_MAX);
	assert_int_equal(rd_record_encode(&r, &b, &err), CM_OK);
	assert_int_equal(rd_record_decode(b.data, b.len, &back, &err), CM_OK);
	assert_string_equal(back.reason, "refused: caf??");
	rd_record_fini(&back);
	cm_buf_fini(&b);
}

static void a_record_with_a_name_that_is_none_is_not_encoded(void **state)
{
	struct rd_record r = {
		.kind = RD_REFUSE, .seq = 2, .plan_round = 1, .reason = "no", .query = "Speed"
	};
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, PR_RECORD_MAX);
	assert_int_equal(cm_buf_put(&b, "before", 6), CM_OK);
	memset(r.round_id, 7, sizeof r.round_id);
	assert_int_equal(rd_record_encode(&r, &b, &err), CM_EINTERNAL);
	assert_non_null(strstr(err.msg, "query"));
	assert_int_equal(b.len, 6);
	cm_buf_fini(&b);
}

static void a_record_that_no_reader_would_accept_is_not_encoded(void **state)
{
	struct rd_record r = { .kind = RD_CHARGE, .seq = 2, .epsilon_round = NAN };
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, 1u << 20);
	assert_int_equal(rd_record_encode(&r, &b, &err), CM_EINTERNAL);
	assert_int_equal(b.len, 0);
	cm_buf_fini(&b);
}

static void any_cut_of_a_record_is_refused_or_reads_within_bounds(void **state)
{
	(void)state;
	for (unsigned kind = RD_OPEN; kind <= RD_PLAN; kind++) {
		Tombola__V1__Record w = sample(kind);
		struct cm_buf b;

		cm_buf_init(&b, 1u << 20);
		assert_int_equal(pr_doc_encode(&w.base, &b, &err), CM_OK);
		for (size_t n = 0; n < b.len; n++) {
			uint8_t *exact = malloc(n + 1);
			struct rd_record r;
			enum cm_rc rc;

			assert_non_null(exact);
			memcpy(exact, b.data, n);
			rc = rd_record_decode(exact, n, &r, &err);
			/* Trailing optional fields may be cut whole; nothing else. */
			assert_true(rc == CM_EDATA || kind == RD_CHARGE);
			rd_record_fini(&r);
			free(exact);
		}
		cm_buf_fini(&b);
	}
}

/* ---- the chain ---- */

struct line {
	struct cm_buf record[4];
};

static void make_chain(struct line *l)
{
	for (unsigned i = 0; i < 4; i++) {
		Tombola__V1__Record w = sample(i == 0 ? RD_OPEN : i + 1);

		w.seq = i + 1;
		cm_buf_init(&l->record[i], 1u << 20);
		assert_int_equal(pr_doc_encode(&w.base, &l->record[i], &err), CM_OK);
	}
}

static void free_chain(struct line *l)
{
	for (unsigned i = 0; i < 4; i++)
		cm_buf_fini(&l->record[i]);
}

static void a_chain_hashes_each_record_after_the_head_before_it(void **state)
{
	struct rd_chain chain = { 0 };
	uint8_t head[PR_HASH_LEN] = { 0 };
	struct line l;

	(void)state;
	make_chain(&l);
	for (unsigned i = 0; i < 4; i++) {
		struct cm_buf joined; /* head_{i-1} || bytes, spelled out */

		cm_buf_init(&joined, 1u << 20);
		wb_put(&joined, head, sizeof head);
		wb_put(&joined, l.record[i].data, l.record[i].len);
		cr_sha256(joined.data, joined.len, head);
		cm_buf_fini(&joined);
		assert_int_equal(
			rd_chain_extend(&chain, l.record[i].data, l.record[i].len, NULL, &err), CM_OK);
		assert_int_equal(chain.seq, i + 1);
		assert_memory_equal(chain.head, head, sizeof head);
	}
	free_chain(&l);
}

static void a_chain_refuses_a_gap_a_repetition_and_a_new_start(void **state)
{
	struct rd_chain chain = { 0 }, before;
	struct rd_record r;
	struct line l;

	(void)state;
	make_chain(&l);
	assert_int_equal(rd_chain_extend(&chain, l.record[1].data, l.record[1].len, &r, &err), CM_EDATA);
	assert_int_equal(chain.seq, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			rd_chain_extend(&chain, l.record[i].data, l.record[i].len, NULL, &err), CM_OK);
	before = chain;
	for (unsigned i = 0; i < 4; i++) {
		if (i == 2)
			continue;
		assert_int_equal(
			rd_chain_extend(&chain, l.record[i].data, l.record[i].len, &r, &err), CM_EDATA);
		rd_record_fini(&r); /* fine after a failure */
		assert_memory_equal(&chain, &before, sizeof chain);
	}
	assert_int_equal(rd_chain_extend(&chain, l.record[2].data, 7, &r, &err), CM_EDATA);
	assert_memory_equal(&chain, &before, sizeof chain);
	assert_int_equal(rd_chain_extend(&chain, l.record[2].data, l.record[2].len, &r, &err), CM_OK);
	assert_int_equal(r.kind, RD_CHARGE);
	rd_record_fini(&r);
	free_chain(&l);
}

static void a_flipped_bit_anywhere_changes_the_head_or_is_refused(void **state)
{
	struct rd_chain honest = { 0 };
	struct line l;

	(void)state;
	make_chain(&l);
	assert_int_equal(rd_chain_extend(&honest, l.record[0].data, l.record[0].len, NULL, &err), CM_OK);
	for (size_t i = 0; i < 8 * l.record[0].len; i++) {
		struct rd_chain chain = { 0 };

		l.record[0].data[i / 8] ^= (uint8_t)(1u << i % 8);
		if (rd_chain_extend(&chain, l.record[0].data, l.record[0].len, NULL, &err) == CM_OK)
			assert_memory_not_equal(chain.head, honest.head, sizeof honest.head);
		l.record[0].data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	free_chain(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_of_each_kind_survives_its_encoding),
		cmocka_unit_test(a_record_without_a_field_of_its_kind_is_refused),
		cmocka_unit_test(a_record_with_a_field_of_another_kind_is_refused),
		cmocka_unit_test(a_settled_round_may_say_why_it_has_no_result),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(kinds_and_numbers_of_records_must_agree),
		cmocka_unit_test(text_that_is_no_name_or_not_printable_is_refused),
		cmocka_unit_test(a_record_that_no_reader_would_accept_is_not_encoded),
		cmocka_unit_test(a_reason_cut_inside_a_character_does_not_spoil_the_ledger),
		cmocka_unit_test(a_record_with_a_name_that_is_none_is_not_encoded),
		cmocka_unit_test(any_cut_of_a_record_is_refused_or_reads_within_bounds),
		cmocka_unit_test(a_chain_hashes_each_record_after_the_head_before_it),
		cmocka_unit_test(a_chain_refuses_a_gap_a_repetition_and_a_new_start),
		cmocka_unit_test(a_flipped_bit_anywhere_changes_the_head_or_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
