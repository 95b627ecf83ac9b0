/* test_rd_plan.c - signed plans: every field out of range, every cut, and what a round of one may differ
 * in. */
#include "golden_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cm_fault.h"
#include "pr_msg.h"
#include "rd_plan.h"

static struct cm_err err;

static struct rd_plan read_golden(void)
{
	struct rd_plan p;

	if (rd_plan_decode(golden.data, golden.len, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return p;
}

static void the_golden_plan_reads_as_its_json_says(void **state)
{
	struct rd_plan p = read_golden();
	struct cm_buf b;
	uint8_t hash[PR_HASH_LEN];

	(void)state;
	assert_string_equal(p.population, "shuttle");
	assert_string_equal(p.name, "winter");
	assert_string_equal(p.mode, "plan");
	assert_false(rd_plan_is_adaptive(&p));
	assert_int_equal(p.number, 2);
	assert_int_equal(p.tries, 3);
	assert_true(p.epsilon == 1.0 && p.delta == 1e-6 && p.honest_fraction == 0.95 && p.colluders == 10);
	assert_int_equal(p.entries, 2);
	assert_int_equal(p.refusals, 2);
	assert_string_equal(p.entry[0].randomizer.row->name, "grr");
	assert_int_equal(p.entry[0].query.categories, 5);
	assert_int_equal(p.entry[1].query.kind, QY_MEAN);
	assert_true(p.entry[1].epsilon_total == 0.5 && p.entry[0].min_reports == 1000);
	assert_string_equal(p.refused[1].query, "engine.bins");
	assert_true(isinf(p.refused[1].epsilon_total));
	assert_ptr_equal(rd_plan_entry(&p, 3), &p.entry[1]);
	assert_null(rd_plan_entry(&p, 2));
	cr_sha256(golden.data, golden.len, hash);
	assert_memory_equal(p.hash, hash, PR_HASH_LEN);
	cm_buf_init(&b, PR_PLAN_MAX);
	assert_int_equal(rd_plan_encode(&p, &b, &err), CM_OK);
	assert_int_equal(b.len, golden.len);
	assert_memory_equal(b.data, golden.data, b.len);
	cm_buf_fini(&b);
	rd_plan_fini(&p);
}

/* ---- the golden plan with one thing changed ---- */

struct change {
	struct pr_doc doc;
	Tombola__V1__Plan *m;
};

static void begin(struct change *c)
{
	assert_int_equal(pr_doc_decode(&tombola__v1__plan__descriptor, golden.data, golden.len, PR_PLAN_MAX,
				 &c->doc, &err),
		CM_OK);
	c->m = (Tombola__V1__Plan *)c->doc.msg;
}

static enum cm_rc finish(struct change *c)
{
	struct rd_plan p;
	struct cm_buf b;
	enum cm_rc rc;

	cm_buf_init(&b, 4u << 20);
	assert_int_equal(pr_doc_encode(&c->m->base, &b, &err), CM_OK);
	rc = rd_plan_decode(b.data, b.len, &p, &err);
	rd_plan_fini(&p);
	cm_buf_fini(&b);
	pr_doc_free(&c->doc);
	return rc;
}

static void expect_refused(struct change *c, const char *field, int line)
{
	enum cm_rc rc = finish(c);

	if (rc != CM_EPROTO)
		fail_msg("line %d: %s accepted", line, field);
	if (!strstr(err.msg, field))
		fail_msg("line %d: '%s' does not name %s", line, err.msg, field);
}

#define REFUSED(field, statement)                    \
	do {                                         \
		struct change c;                     \
		begin(&c);                           \
		statement;                           \
		expect_refused(&c, field, __LINE__); \
	} while (0)
#define ACCEPTED(statement)                      \
	do {                                     \
		struct change c;                 \
		begin(&c);                       \
		statement;                       \
		if (finish(&c) != CM_OK)         \
			fail_msg("%s", err.msg); \
	} while (0)
#define TEXT(s) ((char *)(uintptr_t)(s))

static void a_plan_whose_head_is_out_of_range_is_refused(void **state)
{
	(void)state;
	REFUSED("version", c.m->version = 2);
	REFUSED("population", c.m->population = TEXT(""));
	REFUSED("name", c.m->name = TEXT("Not a name"));
	REFUSED("mode", c.m->mode = TEXT("greedy"));
	REFUSED("unit", c.m->unit = TEXT("a b"));
	REFUSED("number", c.m->number = 0);
	REFUSED("previous", c.m->number = 1);
	REFUSED("previous", c.m->previous.len = 0);
	REFUSED("previous", c.m->previous.len = 31);
	REFUSED("file_hash", c.m->file_hash.len = 0);
	ACCEPTED(c.m->number = 1; c.m->previous.len = 0);
	REFUSED("epsilon", c.m->epsilon = 0);
	REFUSED("epsilon", c.m->epsilon = (double)NAN);
	REFUSED("epsilon", c.m->epsilon = (double)INFINITY);
	REFUSED("delta", c.m->delta = 0);
	REFUSED("delta", c.m->delta = 1);
	REFUSED("delta", c.m->delta = (double)NAN);
	REFUSED("honest_fraction", c.m->honest_fraction = 0);
	REFUSED("honest_fraction", c.m->honest_fraction = 1.0000001);
	REFUSED("colluders", c.m->colluders = PR_ROUND_REPORTS_MAX + 1ULL);
	REFUSED("tries", c.m->tries = 0);
	REFUSED("tries", c.m->tries = PR_TRIES_MAX + 1);
	ACCEPTED(c.m->tries = PR_TRIES_MAX);
}

static void an_entry_out_of_range_is_refused(void **state)
{
	(void)state;
	REFUSED("query", c.m->entries[0]->query = NULL);
	REFUSED("randomizer", c.m->entries[0]->randomizer = NULL);
	REFUSED("randomizer", c.m->entries[0]->randomizer->parameters.len--);
	/* Its bins. */
	REFUSED("randomizer", c.m->entries[0]->randomizer->parameters.data[0]++);
	REFUSED("protocol", c.m->entries[0]->randomizer->protocol = TEXT("nobody"));
	REFUSED("min_reports", c.m->entries[0]->min_reports = 0);
	REFUSED("min_reports", c.m->entries[0]->min_reports = 58001);
	REFUSED("target", c.m->entries[0]->target = PR_ROUND_REPORTS_MAX + 1ULL);
	REFUSED("epsilon0", c.m->entries[0]->epsilon0 = (double)NAN);
	REFUSED("epsilon_round", c.m->entries[0]->epsilon_round = (double)INFINITY);
	REFUSED("epsilon_total", c.m->entries[1]->epsilon_total = -1);
	REFUSED("entry 1", c.m->entries[0]->number = 0);
	REFUSED("entry 2", c.m->entries[1]->number = 1);
	REFUSED("number", c.m->entries[0]->number = 3);
	REFUSED("entries", c.m->mode = TEXT("adaptive.gdp"));
	ACCEPTED(c.m->n_entries = 0);
	ACCEPTED(c.m->mode = TEXT("adaptive.gdp"); c.m->n_entries = 0; c.m->n_refused = 0);
}

static void a_refused_round_out_of_range_is_refused(void **state)
{
	(void)state;
	REFUSED("number", c.m->refused[0]->number = 0);
	REFUSED("query", c.m->refused[0]->query = TEXT("two words"));
	REFUSED("epsilon_round", c.m->refused[0]->epsilon_round = (double)NAN);
	REFUSED("epsilon_total", c.m->refused[1]->epsilon_total = -0.5);
}

static void every_cut_is_refused_or_another_plan(void **state)
{
	struct rd_plan whole = read_golden(), p;
	unsigned refused = 0;

	(void)state;
	for (size_t n = 0; n < golden.len; n++) {
		uint8_t *exact = malloc(n + 1);

		assert_non_null(exact);
		memcpy(exact, golden.data, n);
		if (rd_plan_decode(exact, n, &p, &err) == CM_OK)
			assert_memory_not_equal(p.hash, whole.hash, PR_HASH_LEN);
		else
			refused++;
		rd_plan_fini(&p);
		free(exact);
	}
	assert_true(refused > golden.len - 10); /* but for cuts before an entry or a refused round */
	rd_plan_fini(&whole);
}

static void nobody_signs_what_nobody_would_accept(void **state)
{
	struct rd_plan p = read_golden();
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, PR_PLAN_MAX);
	p.entry[1].number = 1;
	assert_int_equal(rd_plan_encode(&p, &b, &err), CM_EINTERNAL);
	assert_int_equal(b.len, 0);
	p.entry[1].number = 3;
	p.tries = 0;
	assert_int_equal(rd_plan_encode(&p, &b, &err), CM_EINTERNAL);
	cm_buf_fini(&b);
	rd_plan_fini(&p);
}

static enum cm_rc verify(const uint8_t signature[CR_SIGN_LEN])
{
	struct rd_plan p;
	enum cm_rc rc = rd_plan_verify(golden.data, golden.len, signature, analyzer.verifier, &p, &err);

	rd_plan_fini(&p);
	return rc;
}

static void only_the_analyzers_signature_over_every_bit_is_believed(void **state)
{
	uint8_t signature[CR_SIGN_LEN];

	(void)state;
	assert_int_equal(
		cr_sign(analyzer.signer, RD_PURPOSE_PLAN, golden.data, golden.len, signature, &err), CM_OK);
	assert_int_equal(verify(signature), CM_OK);
	for (size_t i = 0; i < golden.len; i++) {
		golden.data[i] ^= (uint8_t)(1u << i % 8);
		assert_int_equal(verify(signature), CM_EPERM);
		golden.data[i] ^= (uint8_t)(1u << i % 8);
	}
	signature[5] ^= 4;
	assert_int_equal(verify(signature), CM_EPERM);
	assert_int_equal(
		cr_sign(analyzer.signer, RD_PURPOSE_DESCRIPTOR, golden.data, golden.len, signature, &err),
		CM_OK);
	assert_int_equal(verify(signature), CM_EPERM);
	assert_int_equal(
		cr_sign(other.signer, RD_PURPOSE_PLAN, golden.data, golden.len, signature, &err), CM_OK);
	assert_int_equal(verify(signature), CM_EPERM);
}

/* ---- what a round of an entry may differ in ---- */

/* A descriptor of entry 1 as an analyzer would announce it. */
static struct rd_descriptor describe(const struct rd_plan *p)
{
	struct rd_descriptor d;

	rd_plan_descriptor(p, 0, &d);
	d.attempt = 1;
	return d;
}

#define COVERED(statement)                                          \
	do {                                                        \
		struct rd_descriptor d = describe(&p);              \
		statement;                                          \
		if (rd_plan_covers(&p, &d, &err) != CM_OK)          \
			fail_msg("line %d: %s", __LINE__, err.msg); \
	} while (0)
#define NOT_COVERED(word, statement)                                                \
	do {                                                                        \
		struct rd_descriptor d = describe(&p);                              \
		statement;                                                          \
		assert_int_equal(rd_plan_covers(&p, &d, &err), CM_EPROTO);          \
		if (!strstr(err.msg, word))                                         \
			fail_msg("line %d: '%s': not %s", __LINE__, err.msg, word); \
	} while (0)

static void contents_are_free_and_the_pair_is_not(void **state)
{
	struct rd_plan p = read_golden();

	(void)state;
	COVERED((void)0);
	/* Contents: what is asked about, when, under which key and number. */
	COVERED(strcpy(d.query.name, "another"));
	COVERED(d.query.field[0] = 'x');
	COVERED(d.query.categories = 3);
	COVERED(d.deadline_ms += 5; d.opens_ms += 4);
	COVERED(d.hpke_key[0] ^= 1; d.round_id[0] ^= 1);
	COVERED(d.sequence = 77; d.previous[3] = 1);
	COVERED(d.attempt = 3);
	COVERED(d.privacy.epsilon_total = 9);
	/* The pair. */
	NOT_COVERED("randomizer", d.randomizer.mixbins.keep--);
	NOT_COVERED("randomizer", d.randomizer.mixbins.keep++);
	NOT_COVERED("randomizer", d.randomizer.mixbins.bins++);
	NOT_COVERED("randomizer", d.randomizer.shuffler.dummies = 1);
	NOT_COVERED("randomizer", d.randomizer.shuffler.noise_mean = 1);
	NOT_COVERED("batch", d.min_reports--);
	NOT_COVERED("batch", d.min_reports++);
	NOT_COVERED("batch", d.target++);
	NOT_COVERED("honest", d.honest_fraction = 1);
	NOT_COVERED("honest", d.honest_fraction = 0.9);
	NOT_COVERED("honest", d.colluders++);
	COVERED(d.payload_size = 5; d.payload_hash[3] = 1);
	NOT_COVERED("computing", strcpy(d.computing.map, "moments"));
	NOT_COVERED("computing", d.payload_max = 1);
	NOT_COVERED("kind", d.query.kind = QY_MEAN);
	/* Whose and which. */
	NOT_COVERED("population", strcpy(d.population, "others"));
	NOT_COVERED("mode", strcpy(d.mode, "adaptive.gdp"));
	NOT_COVERED("unit", strcpy(d.unit, "person"));
	NOT_COVERED("another plan", d.plan_hash[31] ^= 1);
	NOT_COVERED("no entry 2", d.entry = 2); /* the plan refused it */
	NOT_COVERED("randomizer", d.entry = 3);
	NOT_COVERED("no entry 0", d.entry = 0);
	NOT_COVERED("try 4", d.attempt = 4);
	rd_plan_fini(&p);
}

static void an_adaptive_plan_covers_what_its_filter_will_judge(void **state)
{
	struct rd_plan p = read_golden();

	(void)state;
	for (size_t i = 0; i < p.entries; i++)
		qy_query_fini(&p.entry[i].query);
	p.entries = 0;
	strcpy(p.mode, "adaptive.gdp");
	struct rd_descriptor d = { .honest_fraction = p.honest_fraction, .colluders = p.colluders };

	strcpy(d.population, p.population);
	strcpy(d.mode, p.mode);
	strcpy(d.unit, p.unit);
	memcpy(d.plan_hash, p.hash, PR_HASH_LEN);
	d.min_reports = 12345;
	assert_int_equal(rd_plan_covers(&p, &d, &err), CM_OK);
	strcpy(d.mode, "adaptive.renyi");
	assert_int_equal(rd_plan_covers(&p, &d, &err), CM_EPROTO);
	rd_plan_fini(&p);
}

static void an_entry_as_a_descriptor_costs_what_its_round_will(void **state)
{
	struct rd_plan p = read_golden();
	struct rd_descriptor d;
	struct pt_loss from_plan, from_row;

	(void)state;
	for (size_t i = 0; i < p.entries; i++) {
		const struct rd_batch b = {
			.least = 1000, .honest = rd_honest(1000, 0.95, 10), .most = 58000
		};

		rd_plan_descriptor(&p, i, &d);
		assert_int_equal(d.entry, p.entry[i].number);
		assert_int_equal(d.messages_per_client, 1);
		assert_int_equal(d.record_len, 16);
		assert_int_equal(rd_loss(&d, &from_plan, &err), CM_OK);
		assert_int_equal(rd_loss_of(&p.entry[i].randomizer, &b, &from_row, &err), CM_OK);
		assert_int_equal(from_plan.parts, from_row.parts);
		assert_true(acct_round_equal(&from_plan.part[0], &from_row.part[0]));
	}
	rd_plan_fini(&p);
}

static void what_is_signed_beside_documents_is_laid_out_as_documented(void **state)
{
	uint8_t head[PR_HASH_LEN], out[RD_HEAD_MAX], standing[RD_STANDING_LEN];
	static const uint8_t want[] = { 'p', 'o', 'p', 0 };

	(void)state;
	memset(head, 0xab, sizeof head);
	assert_int_equal(rd_head_bytes("pop", 0x0102030405, head, out), 4 + 8 + PR_HASH_LEN);
	assert_memory_equal(out, want, 4);
	assert_memory_equal(out + 4, ((const uint8_t[]){ 0, 0, 0, 1, 2, 3, 4, 5 }), 8);
	assert_memory_equal(out + 12, head, PR_HASH_LEN);
	rd_standing_bytes(head, 7, head, standing);
	assert_memory_equal(standing, head, PR_HASH_LEN);
	assert_memory_equal(standing + PR_HASH_LEN, ((const uint8_t[]){ 0, 0, 0, 0, 0, 0, 0, 7 }), 8);
	assert_memory_equal(standing + PR_HASH_LEN + 8, head, PR_HASH_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_golden_plan_reads_as_its_json_says),
		cmocka_unit_test(a_plan_whose_head_is_out_of_range_is_refused),
		cmocka_unit_test(an_entry_out_of_range_is_refused),
		cmocka_unit_test(a_refused_round_out_of_range_is_refused),
		cmocka_unit_test(every_cut_is_refused_or_another_plan),
		cmocka_unit_test(nobody_signs_what_nobody_would_accept),
		cmocka_unit_test(only_the_analyzers_signature_over_every_bit_is_believed),
		cmocka_unit_test(contents_are_free_and_the_pair_is_not),
		cmocka_unit_test(an_adaptive_plan_covers_what_its_filter_will_judge),
		cmocka_unit_test(an_entry_as_a_descriptor_costs_what_its_round_will),
		cmocka_unit_test(what_is_signed_beside_documents_is_laid_out_as_documented),
	};

	return cmocka_run_group_tests(tests, golden_load, golden_drop);
}
