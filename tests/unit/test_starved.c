/* test_starved.c - memory that runs out at every allocation: of documents, plans, rows, tallies. */
#include "pl_load.h"
#include "starve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "an_once.h"
#include "an_tally.h"
#include "cr_hash.h"
#include "cr_rand.h"
#include "encode_in_room.h"
#include "golden.h"
#include "pl_plan.h"
#include "pr_msg.h"
#include "queries.h"
#include "rd_descriptor.h"
#include "rd_record.h"

static struct cm_buf bytes; /* of the document at hand */

static void word(const void *p, size_t n, uint64_t *answer)
{
	uint8_t hash[32];

	cr_sha256(p, n, hash);
	*answer ^= cm_get_le64(hash);
}

/* ---- documents
 * ------------------------------------------------------------------------------------------ */

static enum cm_rc descriptor(const void *what, uint64_t *answer, struct cm_err *err)
{
	struct rd_descriptor d;
	struct cm_buf again;
	enum cm_rc rc = rd_descriptor_decode(bytes.data, bytes.len, &d, err);

	(void)what;
	cm_buf_init(&again, PR_DESCRIPTOR_MAX);
	if (rc == CM_OK)
		rc = rd_descriptor_encode(&d, &again, err);
	if (rc == CM_OK)
		word(again.data, again.len, answer);
	rd_descriptor_fini(&d);
	cm_buf_fini(&again);
	return rc;
}

static enum cm_rc record(const void *what, uint64_t *answer, struct cm_err *err)
{
	struct rd_record r;
	struct cm_buf again;
	enum cm_rc rc = rd_record_decode(bytes.data, bytes.len, &r, err);

	(void)what;
	cm_buf_init(&again, PR_RECORD_MAX);
	if (rc != CM_OK)
		return rc;
	rc = rd_record_encode(&r, &again, err);
	if (rc == CM_OK)
		word(again.data, again.len, answer);
	rd_record_fini(&r);
	cm_buf_fini(&again);
	return rc;
}

static enum cm_rc frame(const void *what, uint64_t *answer, struct cm_err *err)
{
	struct pr_frame f;
	struct cm_buf again;
	enum cm_rc rc = pr_decode(bytes.data, bytes.len, &f, err);

	(void)what;
	cm_buf_init(&again, PR_FRAME_MAX + 4);
	if (rc == CM_OK)
		rc = pr_encode(f.frame, &again, err);
	if (rc == CM_OK)
		word(again.data, again.len, answer);
	pr_free(&f);
	cm_buf_fini(&again);
	return rc;
}

static unsigned documents, documents_refused;

static void starve_document(const char *name)
{
	static const struct {
		const char *start;
		starve_attempt *attempt;
		size_t skip; /* a frame's length */
	} kind[] = { { "descriptor_", descriptor, 0 }, { "record_", record, 0 }, { "frame_", frame, 4 } };

	/* The message has a field of a later version, and is refused. */
	if (strcmp(name, "descriptor_every_field") == 0)
		return;
	for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
		if (strncmp(name, kind[i].start, strlen(kind[i].start)) != 0)
			continue;
		golden_bytes(name, &bytes);
		cm_buf_drop(&bytes, kind[i].skip);
		documents_refused += starve(name, kind[i].attempt, NULL);
		cm_buf_fini(&bytes);
		documents++;
	}
}

static void every_golden_document(void **state)
{
	(void)state;
	golden_each(starve_document);
	assert_true(documents >= 30 && documents_refused > documents);
}

/* ---- a plan
 * --------------------------------------------------------------------------------------------- */

static const char plan_text[] =
	"name = \"test\"\n"
	"population = \"testers\"\n"
	"budget = { epsilon = 8.0, delta = 1e-6, unit = \"device\" }\n"
	"rounds = (\n"
	"  { query = \"state\", type = \"histogram\", protocol = \"grr\", field = \"Class\",\n"
	"    epsilon0 = 2.0, min_reports = 20, target = 40, values = [\"a\", \"b\", \"c\"] },\n"
	"  { query = \"level\", type = \"mean\", field = \"V3\", epsilon0 = 1.0,\n"
	"    min_reports = 20, range = [0, 10], levels = 4 },\n"
	"  { query = \"pairs\", type = \"marginals\", epsilon0 = 2.0, min_reports = 20,\n"
	"    columns = ( { field = \"x\", values = [\"a\", \"b\"] }, { field = \"y\", values = [\"c\", \"d\"] } ),\n"
	"    marginals = ( [ \"x\", \"y\" ] ) } )\n";

static enum cm_rc plan(const void *what, uint64_t *answer, struct cm_err *err)
{
	struct pl_plan p;
	enum cm_rc rc = pl_plan_parse((const uint8_t *)plan_text, strlen(plan_text), what, NULL, &p, err);

	if (rc == CM_OK) {
		*answer = p.rounds;
		for (size_t i = 0; i < p.rounds; i++)
			word(&p.round[i].cost, sizeof p.round[i].cost, answer);
	}
	pl_plan_fini(&p);
	return rc;
}

static void a_plan(void **state)
{
	(void)state;
	assert_true(starve("plan", plan, "plan.conf") > 20);
}

/* ---- a round of each row
 * -------------------------------------------------------------------------------- */

#define REPORTS 40u

struct round {
	const struct pt_protocol *row;
	struct qy_query q;
	struct pt_randomizer p;
	uint8_t *records;
	uint32_t n;
};

static enum cm_rc derive(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct round *r = what;
	struct pt_randomizer p = { 0 };
	struct pt_loss loss;
	enum cm_rc rc = query_derive(r->row, &r->q, 2.0, &p, err);

	if (rc == CM_OK)
		rc = r->row->device->check(&r->q, &p, err);
	if (rc == CM_OK)
		rc = pt_loss(&p, REPORTS, &loss, err);
	*answer = pt_randomizer_equal(&p, &r->p);
	return rc;
}

static enum cm_rc tally(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct round *r = what;
	uint32_t len = r->row->device->record_len(&r->p);
	struct es_estimate e = { 0 };
	struct an_tally t = { 0 };
	enum cm_rc rc = an_tally_init(&t, r->row->tallies(&r->p), err);

	for (uint32_t i = 0; rc == CM_OK && i < r->n; i++)
		rc = an_tally_record(&t, &r->p, r->records + (size_t)i * len, err);
	if (rc == CM_OK)
		rc = pt_answer(&r->q, &r->p, t.count, REPORTS, &e, err);
	for (size_t i = 0; rc == CM_OK && i < e.n; i++) {
		const double numbers[] = { e.item[i].value, e.item[i].variance, e.item[i].joint_lower,
			e.item[i].joint_upper, e.item[i].projected };
		word(numbers, sizeof numbers, answer);
		*answer = *answer * 3 + 1;
	}
	if (rc == CM_OK)
		es_estimate_fini(&e);
	an_tally_fini(&t);
	return rc;
}

static void encode(struct round *r, const struct cr_rng *rng)
{
	uint32_t each = r->row->device->messages(&r->p), len = r->row->device->record_len(&r->p);
	uint32_t at[PT_SLOTS_MAX];

	r->n = REPORTS * each;
	r->records = calloc(r->n, len);
	assert_non_null(r->records);
	for (uint32_t i = 0; i < REPORTS; i++) {
		struct qy_value v = query_value(&r->q, i % query_values(&r->q), at);
		encode_in_room(r->row->device, &r->q, &r->p, &v, rng, r->records + (size_t)i * each * len);
	}
}

static void a_round_of_every_row(void **state)
{
	struct cr_rng rng;
	struct cm_err err;
	unsigned refused = 0;
	size_t i = 0;

	(void)state;
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (; pt_row(i); i++) {
		struct round r = { .row = pt_row(i), .q = query_of_row(pt_row(i)) };

		if (query_derive(r.row, &r.q, 2.0, &r.p, &err) != CM_OK)
			fail_msg("%s: %s", r.row->device->name, err.msg);
		encode(&r, &rng);
		(void)starve(r.row->device->name, derive, &r);
		refused += starve(r.row->device->name, tally, &r);
		free(r.records);
	}
	assert_true(refused > 4 * i);
}

/* ---- encapsulations seen
 * -------------------------------------------------------------------------------- */

/* Both lists go to their spills, which have no memory of their own. */
static uint8_t spilled[2][64][RD_SORT_PAGE_BYTES];

static enum cm_rc put(void *ctx, uint64_t page, const void *from, size_t len, struct cm_err *err)
{
	uint8_t(*pages)[RD_SORT_PAGE_BYTES] = ctx;

	(void)err;
	assert_true(page < 64);
	memcpy(pages[page], from, len);
	return CM_OK;
}

static enum cm_rc get(void *ctx, uint64_t page, void *to, size_t len, struct cm_err *err)
{
	uint8_t(*pages)[RD_SORT_PAGE_BYTES] = ctx;

	(void)err;
	memcpy(to, pages[page], len);
	return CM_OK;
}

static enum cm_rc seen(const void *what, uint64_t *answer, struct cm_err *err)
{
	static const struct rd_spill counted = { spilled[0], put, get }, aside = { spilled[1], put, get };
	static uint8_t message[3000][48], out[48];
	static const uint8_t *at[3000];
	const struct an_once_conf conf = { 48, 3000, 8000, &counted, &aside };
	struct an_once *o = NULL;
	size_t now = 0;
	enum cm_rc rc = an_once_new(&conf, &o, err);

	(void)what;
	for (uint64_t i = 0; i < 3000; i++) {
		cm_put_le64(message[i], i / 3 * 2 * UINT64_C(0x9e3779b97f4a7c15));
		cm_put_le64(message[i] + 8, i / 3 * UINT64_C(0xbf58476d1ce4e5b9));
		at[i] = message[i];
	}
	if (rc == CM_OK)
		rc = an_once_bucket(o, at, 3000, &now, err);
	if (rc == CM_OK)
		rc = an_once_done(o, err);
	while (rc == CM_OK && (rc = an_once_next(o, out, err)) == CM_OK)
		now++;
	*answer = now;
	if (rc == CM_EMORE)
		*answer = *answer * 10000 + an_once_duplicates(o);
	an_once_free(o);
	return rc == CM_EMORE ? CM_OK : rc;
}

static void encapsulations_that_were_seen(void **state)
{
	uint64_t answer = 0;
	struct cm_err err;

	(void)state;
	assert_int_equal(seen(NULL, &answer, &err), CM_OK);
	assert_int_equal(answer, 1000 * 10000 + 2000);
	assert_true(starve("seen", seen, NULL) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_golden_document),
		cmocka_unit_test(a_plan),
		cmocka_unit_test(a_round_of_every_row),
		cmocka_unit_test(encapsulations_that_were_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
