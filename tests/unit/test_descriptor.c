/* test_descriptor.c - descriptors: what each field may be, of every row. */
#include "golden_descriptor.h"

#include <math.h>

#include "queries.h"

static struct cm_err err;

/* The parameters of the golden descriptor as those of another row of the same struct. */
static void bend_to(Tombola__V1__Randomizer *r, const char *name)
{
	BEND(r, name, (void)0);
}

/* A round without a local guarantee. */
static void bend_always(struct change *c, uint32_t dummies)
{
	BEND(c->m->randomizer, "bins",
		p.mixbins = ((struct pt_mixbins){
			.bins = p.mixbins.bins, .dummies = dummies, .keep_always = true }));
}

static void shuffler_adds(struct change *c, uint64_t dummies)
{
	static Tombola__V1__ShufflerPart part;

	tombola__v1__shuffler_part__init(&part);
	part.dummies = dummies;
	c->m->randomizer->shuffler = &part;
}

static void the_golden_descriptor_reads_as_its_json_says(void **state)
{
	struct rd_descriptor d;
	struct cm_buf b;
	uint8_t hash[PR_HASH_LEN];

	(void)state;
	if (rd_descriptor_decode(golden.data, golden.len, &d, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_string_equal(d.population, "shuttle");
	assert_int_equal(d.round_id[1], 0x17);
	assert_int_equal(d.sequence, 3);
	assert_int_equal(d.query.kind, QY_HISTOGRAM);
	assert_string_equal(d.query.name, "engine.mode");
	assert_int_equal(d.query.categories, 5);
	assert_string_equal(d.query.category[4], "caf\xc3\xa9");
	assert_string_equal(d.randomizer.row->name, "grr");
	assert_int_equal(d.randomizer.mixbins.bins, 5);
	assert_true(d.randomizer.mixbins.keep == UINT64_C(13835058055282163711));
	assert_int_equal(d.min_reports, 1000);
	assert_int_equal(d.target, 58000);
	assert_true(d.honest_fraction == 0.95);
	assert_int_equal(d.colluders, 10);
	assert_true(d.opens_ms == INT64_C(1764000000000) && d.deadline_ms == INT64_C(1764000060000));
	assert_int_equal(d.suite, CR_HPKE_AES128GCM);
	assert_int_equal(d.hpke_key[0], 0x39);
	assert_true(d.privacy.epsilon_limit == 1.0 && d.privacy.delta == 1e-6);
	assert_string_equal(d.unit, "device");
	assert_string_equal(d.mode, "plan");
	assert_int_equal(d.ledger_seq, 5);
	cr_sha256(golden.data, golden.len, hash);
	assert_memory_equal(d.hash, hash, sizeof hash);

	cm_buf_init(&b, PR_DESCRIPTOR_MAX);
	assert_int_equal(rd_descriptor_encode(&d, &b, &err), CM_OK);
	assert_int_equal(b.len, golden.len);
	assert_memory_equal(b.data, golden.data, b.len);
	cm_buf_fini(&b);
	rd_descriptor_fini(&d);
	rd_descriptor_fini(&d); /* twice is fine */
}

static void a_size_comes_with_its_protocol_and_its_record(void **state)
{
	struct rd_descriptor d;

	(void)state;
	if (rd_descriptor_decode(golden_olh.data, golden_olh.len, &d, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_string_equal(d.randomizer.row->name, "olh");
	assert_int_equal(d.randomizer.olh.size, 8);
	assert_int_equal(d.record_len, 32);
	/* floor(2^64 e^2 / (e^2 + 7)) - 64, in sixty decimals. */
	assert_true(d.randomizer.olh.keep == UINT64_C(9472756646864840540));
	rd_descriptor_fini(&d);
}

static void devices_without_a_reading_have_a_bin(void **state)
{
	struct rd_descriptor d;

	(void)state;
	if (rd_descriptor_decode(golden_none.data, golden_none.len, &d, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(d.query.none, QY_NONE_SYMBOL);
	assert_true(d.query.categories == 5 && d.randomizer.mixbins.bins == 6);
	rd_descriptor_fini(&d);
	REFUSED_OF(golden_none, "6 bins for 5 categories", c.m->query->none = 0);
	REFUSED_OF(golden_none, "5 bins for 5 categories and the symbol of none",
		BEND(c.m->randomizer, "grr", p.single.bins = 5));
	REFUSED_OF(golden_none, "no way to take part", c.m->query->none = 4);
	REFUSED("5 bins for 5 categories and the symbol of none", c.m->query->none = 1);
}

static void quantiles_are_asked_of_a_range(void **state)
{
	struct rd_descriptor d;

	(void)state;
	if (rd_descriptor_decode(golden_quantiles.data, golden_quantiles.len, &d, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(d.query.kind, QY_QUANTILES);
	assert_true(d.query.low == -40.5 && d.query.high == 125 && d.randomizer.mixbins.bins == 33);
	rd_descriptor_fini(&d);
}

/* The decay is that of a second implementation of doc/protocols/structured.md, in Python's integers. */
static void places_come_with_their_grid_and_its_decay(void **state)
{
	struct rd_descriptor d;
	struct pt_randomizer derived;

	(void)state;
	if (rd_descriptor_decode(golden_places.data, golden_places.len, &d, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(d.query.kind, QY_PLACES);
	assert_int_equal(d.query.columns, 2);
	assert_string_equal(d.query.column[0].name, "lon");
	assert_true(d.query.column[0].low == 10 && d.query.column[0].high == 14);
	assert_true(d.query.column[0].cells == 4 && d.query.column[1].cells == 3);
	assert_true(d.randomizer.planar.width == 4 && d.randomizer.planar.height == 3);
	assert_true(fabs(d.randomizer.row->epsilon0(&d.randomizer) - 6) < 1e-12);
	if (pt_derive(pt_find("planar"), &d.query, &(struct pt_request){ .epsilon0 = 6 }, &derived, &err) !=
		CM_OK)
		fail_msg("%s", err.msg);
	/* The last bit of an exponential depends on the machine. */
	assert_true(fabs((double)derived.planar.decay / (double)d.randomizer.planar.decay - 1) < 1e-14);
	rd_descriptor_fini(&d);
	REFUSED_OF(golden_places, "a grid of 3 by 4 cells, the query's has 4 by 3",
		BEND(c.m->randomizer, "planar", (p.planar.width = 3, p.planar.height = 4)));
	REFUSED_OF(golden_places, "a grid of 4 by 3 cells, the query's has 4 by 2",
		c.m->query->columns[1]->cells = 2);
	REFUSED_OF(golden_places, "epsilon0 above 16", BEND(c.m->randomizer, "planar", p.planar.decay /= 2));
	REFUSED_OF(golden_places, "hardly told apart",
		BEND(c.m->randomizer, "planar", p.planar.decay = UINT64_MAX));
	REFUSED_OF(golden_places, "no way to take part", c.m->query->none = 3);
}

static void a_descriptor_of_each_protocol_survives_its_encoding(void **state)
{
	const struct pt_protocol *row;
	struct rd_descriptor any;

	(void)state;
	assert_int_equal(rd_descriptor_decode(golden.data, golden.len, &any, &err), CM_OK);
	for (size_t i = 0; (row = pt_row(i)); i++) {
		struct rd_descriptor d = any, back;
		struct cm_buf b;

		d.query = query_of_row(row); /* with the symbol of none where the row has it */
		if (query_derive(row, &d.query, 2, &d.randomizer, &err) != CM_OK)
			fail_msg("%s: %s", row->device->name, err.msg);
		d.privacy.epsilon0 = row->device->epsilon0(&d.randomizer);
		d.messages_per_client = row->device->messages(&d.randomizer);
		d.record_len = row->device->record_len(&d.randomizer);
		cm_buf_init(&b, PR_DESCRIPTOR_MAX);
		if (rd_descriptor_encode(&d, &b, &err) != CM_OK)
			fail_msg("%s: %s", row->device->name, err.msg);
		assert_int_equal(rd_descriptor_decode(b.data, b.len, &back, &err), CM_OK);
		assert_true(pt_randomizer_equal(&d.randomizer, &back.randomizer));
		assert_ptr_equal(back.randomizer.row, row->device);
		cm_buf_fini(&b);
		rd_descriptor_fini(&back);
	}
	rd_descriptor_fini(&any);
}

/* With such a row a device would send what no reading gives. */
static void a_symbol_of_none_is_for_rows_that_have_it(void **state)
{
	const struct pt_protocol *row;
	struct rd_descriptor any;
	size_t refused = 0;

	(void)state;
	assert_int_equal(rd_descriptor_decode(golden.data, golden.len, &any, &err), CM_OK);
	for (size_t i = 0; (row = pt_row(i)); i++) {
		struct rd_descriptor d = any;
		struct cm_buf b;

		d.query = query_of_row(row);
		/* Vectors and places have no symbol of none, whatever the row. */
		if (d.query.none == QY_NONE_SYMBOL || d.query.kind == QY_VECTOR || d.query.kind == QY_PLACES)
			continue;
		refused++;
		assert_int_equal(query_derive(row, &d.query, 2, &d.randomizer, &err), CM_OK);
		d.privacy.epsilon0 = row->device->epsilon0(&d.randomizer);
		d.messages_per_client = row->device->messages(&d.randomizer);
		d.record_len = row->device->record_len(&d.randomizer);
		cm_buf_init(&b, PR_DESCRIPTOR_MAX);
		assert_int_equal(rd_descriptor_encode(&d, &b, &err), CM_OK);
		REFUSED_OF(b, "has no symbol for devices without a reading",
			(c.m->query->none = 1, c.m->query->none_value = 0));
		cm_buf_fini(&b);
	}
	assert_true(refused > 0);
	rd_descriptor_fini(&any);
}

static void identity_out_of_range_is_refused(void **state)
{
	static const char *const names[] = { "", "Shuttle", "a b", "../x", ".x", "-x", "a/b", "caf\xc3\xa9" };

	(void)state;
	REFUSED("version", c.m->version = 0);
	REFUSED("version", c.m->version = 2);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		REFUSED("population", c.m->population = TEXT(names[i]));
	REFUSED("population", c.m->population = c.long_text);
	REFUSED("round_id", c.m->round_id.len = 0);
	REFUSED("round_id", c.m->round_id.len = 15);
	REFUSED("round_id", (c.m->round_id.len = 17, c.m->round_id.data = c.long_bytes));
	REFUSED("sequence", c.m->sequence = 0);
	REFUSED("previous", c.m->sequence = 1);
	REFUSED("previous", c.m->previous.len = 0);
	REFUSED("previous", c.m->previous.len = 31);
	REFUSED("previous", memset(c.m->previous.data, 0, PR_HASH_LEN));
	REFUSED("payload_hash", c.m->payload_hash = c.m->previous);
	ACCEPTED(c.m->sequence = UINT64_MAX);
}

static void an_unknown_critical_extension_is_refused(void **state)
{
	char name[] = "later.extension", escape[] = "\x1b[2J", *list[PR_CRITICAL_MAX + 1] = { name };

	(void)state;
	REFUSED("later.extension", (c.m->n_critical = 1, c.m->critical = list));
	list[0] = escape; /* must not reach a terminal */
	REFUSED("'?'", (c.m->n_critical = 1, c.m->critical = list));
	for (size_t i = 0; i <= PR_CRITICAL_MAX; i++)
		list[i] = name;
	REFUSED("critical: more than", (c.m->n_critical = PR_CRITICAL_MAX + 1, c.m->critical = list));
}

static void a_query_out_of_range_is_refused(void **state)
{
	static const double bad[] = { (double)NAN, (double)INFINITY, (double)-INFINITY };

	(void)state;
	REFUSED("query", c.m->query = NULL);
	REFUSED("query.name", c.m->query->name = TEXT(""));
	REFUSED("query.name", c.m->query->name = TEXT("Engine"));
	REFUSED("query.name", (c.long_text[65] = 0, c.m->query->name = c.long_text));
	REFUSED("query.field", c.m->query->field = TEXT(""));
	REFUSED("query.field", c.m->query->field = TEXT("two\nlines"));
	REFUSED("query.kind", c.m->query->kind = (Tombola__V1__QueryKind)0);
	REFUSED("query.kind", c.m->query->kind = (Tombola__V1__QueryKind)3);
	REFUSED("mean has no categories", c.m->query->kind = TOMBOLA__V1__QUERY_KIND__QUERY_MEAN);
	REFUSED("query", c.m->query->n_categories = 0);
	REFUSED("query", c.m->query->n_categories = 1);
	REFUSED("query", c.m->query->categories[1] = c.m->query->categories[3]); /* twice the same */
	REFUSED("categories", c.m->query->categories[1] = TEXT(""));
	REFUSED("categories", c.m->query->categories[1] = TEXT("bell\a"));
	REFUSED("categories", c.m->query->categories[1] = TEXT("\xff"));
	REFUSED("histogram has no range", c.m->query->low = 1.0);
	REFUSED("histogram has no range", c.m->query->high = 1.0);
	REFUSED_MEAN("range must be finite", c.m->query->low = c.m->query->high);
	REFUSED_MEAN("range must be finite", c.m->query->low = c.m->query->high + 1.0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		REFUSED_MEAN("range must be finite", c.m->query->low = bad[i]);
		REFUSED_MEAN("range must be finite", c.m->query->high = bad[i]);
	}
	REFUSED_MEAN("query",
		(c.m->query->low = -1.7e308, c.m->query->high = 1.7e308)); /* the width is no double */
}

static void a_randomizer_out_of_range_is_refused(void **state)
{
	(void)state;
	REFUSED("randomizer", c.m->randomizer = NULL);
	REFUSED("randomizer.protocol", c.m->randomizer->protocol = TEXT(""));
	REFUSED("randomizer.protocol", c.m->randomizer->protocol = TEXT("nosuch"));
	REFUSED("randomizer.protocol", (c.long_text[32] = 0, c.m->randomizer->protocol = c.long_text));
	REFUSED("randomizer.protocol",
		c.m->randomizer->protocol = TEXT("levels")); /* answers no histograms */
	REFUSED_MEAN("randomizer.protocol", c.m->randomizer->protocol = TEXT("grr"));
	REFUSED("bins", BEND(c.m->randomizer, "grr", p.mixbins.bins = 0));
	REFUSED("bins", BEND(c.m->randomizer, "grr", p.mixbins.bins = 1));
	REFUSED("bins", BEND(c.m->randomizer, "grr", p.mixbins.bins = PR_CATEGORIES_MAX + 1));
	REFUSED("bins", BEND(c.m->randomizer, "grr", p.mixbins.bins = 6)); /* five categories */
	REFUSED("dummies", BEND(c.m->randomizer, "mixbins", p.mixbins.dummies = PR_MESSAGES_MAX));
	REFUSED("randomizer.shuffler.dummies", shuffler_adds(&c, 1)); /* not with grr */
	REFUSED("keep", BEND(c.m->randomizer, "mixbins", p.mixbins.keep_always = true));
	REFUSED("no noise of any kind",
		BEND(c.m->randomizer, "mixbins", (p.mixbins.keep_always = true, p.mixbins.keep = 0)));
	REFUSED("randomizer", BEND(c.m->randomizer, "grr", p.mixbins.keep = 0));
	/* 1/8 is below 1/5: a false value would be likelier than the true one. */
	REFUSED("randomizer", BEND(c.m->randomizer, "grr", p.mixbins.keep = UINT64_C(1) << 61));
	/* epsilon0 is above the range of the accountant. */
	REFUSED("randomizer", BEND(c.m->randomizer, "grr", p.mixbins.keep = UINT64_MAX));
	/* A row takes its own parameters: no more bytes, no fewer, and those of no other row. */
	REFUSED("randomizer.parameters: 11 bytes", c.m->randomizer->parameters.len = 11);
	REFUSED("Randomizer.parameters: missing", c.m->randomizer->parameters.len = 0);
	REFUSED("randomizer.parameters: 25 bytes",
		(bend_to(c.m->randomizer, "mixbins"), c.m->randomizer->protocol = TEXT("grr")));
	REFUSED("randomizer.parameters: 12 bytes", c.m->randomizer->protocol = TEXT("subset"));
	REFUSED("neither 0 nor 1",
		(bend_to(c.m->randomizer, "mixbins"), c.m->randomizer->parameters.data[16] = 2));
}

static void a_shape_that_is_not_the_protocols_is_refused(void **state)
{
	(void)state;
	REFUSED("messages_per_client", c.m->messages_per_client = 0);
	REFUSED("messages_per_client", c.m->messages_per_client = 2);
	REFUSED("messages_per_client", c.m->messages_per_client = UINT32_MAX);
	REFUSED("record_length", c.m->record_length = 0);
	REFUSED("record_length", c.m->record_length--);
	REFUSED("record_length", c.m->record_length++);
	REFUSED("record_length", c.m->record_length = UINT32_MAX);
}

static void a_batch_out_of_range_is_refused(void **state)
{
	static const double bad[] = { 0.0, -0.5, 1.0000000000000002, (double)NAN, (double)INFINITY };

	(void)state;
	REFUSED("min_reports", c.m->min_reports = 0);
	REFUSED("min_reports", c.m->min_reports = c.m->target + 1);
	REFUSED("target", c.m->target = 0);
	REFUSED("target", c.m->target = PR_ROUND_REPORTS_MAX + UINT64_C(1));
	REFUSED("target", c.m->target = UINT64_MAX);
	ACCEPTED(c.m->min_reports = c.m->target);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		REFUSED("honest_fraction", c.m->honest_fraction = bad[i]);
	ACCEPTED(c.m->honest_fraction = 1.0);
	REFUSED("colluders", c.m->colluders = UINT64_MAX);
	REFUSED("deadline_ms", c.m->deadline_ms = c.m->opens_ms);
	REFUSED("deadline_ms", c.m->deadline_ms = INT64_MIN);
	REFUSED("deadline_ms", c.m->deadline_ms = INT64_MAX);
	REFUSED("opens_ms", c.m->opens_ms = -1);
}

static void a_key_or_suite_that_is_none_is_refused(void **state)
{
	(void)state;
	REFUSED("hpke_suite", c.m->hpke_suite = 0);
	REFUSED("hpke_suite", c.m->hpke_suite = 2); /* AES-256-GCM: an AEAD of the RFC, not of ours */
	REFUSED("hpke_suite", c.m->hpke_suite = 0xffff);
	ACCEPTED(c.m->hpke_suite = 3);
	REFUSED("hpke_key", c.m->hpke_key.len = 0);
	REFUSED("hpke_key", c.m->hpke_key.len = 31);
	REFUSED("hpke_key", (c.m->hpke_key.len = 33, c.m->hpke_key.data = c.long_bytes));
}

static void a_privacy_statement_out_of_range_is_refused(void **state)
{
	static const double bad[] = { -1.0, (double)NAN, (double)INFINITY, (double)-INFINITY };

	(void)state;
	REFUSED("privacy", c.m->privacy = NULL);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		REFUSED("privacy.epsilon0", c.m->privacy->epsilon0 = bad[i]);
		REFUSED("privacy.epsilon_round", c.m->privacy->epsilon_round = bad[i]);
		REFUSED("privacy.epsilon_total", c.m->privacy->epsilon_total = bad[i]);
		REFUSED("privacy.epsilon_limit", c.m->privacy->epsilon_limit = bad[i]);
		REFUSED("privacy.delta", c.m->privacy->delta = bad[i]);
	}
	REFUSED("privacy.epsilon_limit", c.m->privacy->epsilon_limit = 0.0);
	REFUSED("privacy.delta", c.m->privacy->delta = 0.0);
	REFUSED("privacy.delta", c.m->privacy->delta = 1.0);
	/* A statement above the limit is well-formed; the account refuses it, with another code. */
	ACCEPTED(c.m->privacy->epsilon_total = 2.0);
}

static void only_keep_always_may_have_an_infinite_epsilon0(void **state)
{
	(void)state;
	ACCEPTED((bend_to(c.m->randomizer, "bins"), bend_always(&c, 3), c.m->messages_per_client = 4,
		c.m->privacy->epsilon0 = (double)INFINITY));
	REFUSED("privacy.epsilon0",
		(bend_to(c.m->randomizer, "mixbins"), c.m->privacy->epsilon0 = (double)INFINITY));
}

static void messages_of_the_shuffler_are_for_rows_that_have_them(void **state)
{
	(void)state;
	ACCEPTED((bend_to(c.m->randomizer, "bins"), bend_always(&c, 0),
		shuffler_adds(&c, PT_SHUFFLER_DUMMIES_MAX), c.m->privacy->epsilon0 = (double)INFINITY));
	REFUSED("randomizer.shuffler.dummies", (bend_to(c.m->randomizer, "bins"), bend_always(&c, 0),
						       shuffler_adds(&c, PT_SHUFFLER_DUMMIES_MAX + 1),
						       c.m->privacy->epsilon0 = (double)INFINITY));
	/* The round has no dummies of anybody, and no local guarantee. */
	REFUSED("randomizer", (bend_to(c.m->randomizer, "bins"), bend_always(&c, 0),
				      c.m->privacy->epsilon0 = (double)INFINITY));
}

static void a_ledger_position_that_is_none_is_refused(void **state)
{
	(void)state;
	REFUSED("unit", c.m->unit = TEXT(""));
	REFUSED("unit", c.m->unit = TEXT("Device"));
	REFUSED("unit", (c.long_text[33] = 0, c.m->unit = c.long_text));
	REFUSED("mode", c.m->mode = TEXT(""));
	REFUSED("mode", c.m->mode = TEXT("adaptive"));
	REFUSED("mode", c.m->mode = TEXT("adaptive.pld"));
	REFUSED("plan_hash", c.m->plan_hash.len = 0);
	REFUSED("plan_hash", c.m->plan_hash.len = 31);
	REFUSED("ledger_head", c.m->ledger_head.len = 0);
	REFUSED("ledger_head", c.m->ledger_head.len = 31);
	REFUSED("ledger_head", c.m->ledger_seq = 0);
	ACCEPTED((c.m->ledger_seq = 0, c.m->ledger_head.len = 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_golden_descriptor_reads_as_its_json_says),
		cmocka_unit_test(a_size_comes_with_its_protocol_and_its_record),
		cmocka_unit_test(devices_without_a_reading_have_a_bin),
		cmocka_unit_test(quantiles_are_asked_of_a_range),
		cmocka_unit_test(places_come_with_their_grid_and_its_decay),
		cmocka_unit_test(a_descriptor_of_each_protocol_survives_its_encoding),
		cmocka_unit_test(a_symbol_of_none_is_for_rows_that_have_it),
		cmocka_unit_test(identity_out_of_range_is_refused),
		cmocka_unit_test(an_unknown_critical_extension_is_refused),
		cmocka_unit_test(a_query_out_of_range_is_refused),
		cmocka_unit_test(a_randomizer_out_of_range_is_refused),
		cmocka_unit_test(a_shape_that_is_not_the_protocols_is_refused),
		cmocka_unit_test(a_batch_out_of_range_is_refused),
		cmocka_unit_test(a_key_or_suite_that_is_none_is_refused),
		cmocka_unit_test(a_privacy_statement_out_of_range_is_refused),
		cmocka_unit_test(only_keep_always_may_have_an_infinite_epsilon0),
		cmocka_unit_test(a_ledger_position_that_is_none_is_refused),
		cmocka_unit_test(messages_of_the_shuffler_are_for_rows_that_have_them),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
