/* test_pipeline.c - an audit of the real pipeline: readings, client, wire, shuffler and opened messages, in
 * two worlds that differ in one device's data.
 *
 * An attacker sees what the analyzer sees of a round: whether it is void, how many took part, and every
 * message in the order of its release.  On the rounds of one half it chooses the event that tells the worlds
 * apart best; on the other half that event's chances give a lower bound on epsilon (Clopper-Pearson, 99.99 %
 * for both chances together), which must be below what is charged, and near the exact value where there is
 * one.
 *
 * With the check `client.none` or `shuffler.min_reports` removed what is seen is above the charge.  Seeded,
 * so that a run repeats. */
#include <math.h>
#include <string.h>

#include "acct.h"
#include "cl_encode.h"
#include "cl_prepare.h"
#include "exact_batch.h"
#include "rd_receipt.h"
#include "seeded.h"
#include "sh_play.h"

#define DEVICES  3u
#define BINS     3u /* two categories and the symbol of none */
#define EPSILON0 2.5
#define DELTA    0.02
#define LEARN    250
#define TEST     1500
#define AFRESH   100 /* rounds of one ledger: a plan each */
#define VIEWS    64u /* 3^3 orders of messages, and voids by their number of participants */
#define VOID     32u
#define RISK     5e-5 /* of each of the two bounds */

static struct cr_rng rng;
static struct cm_err err;

struct scene {
	const char *row[2]; /* of the victim, in the two worlds */
	const char *others; /* the field of everybody else */
	unsigned others_n;
	uint64_t least; /* participants of a batch */
};

/* ---- One round ---- */

struct stage {
	struct sh_play play;
	struct cr_key secret, gateway;
	uint8_t hpke_key[CR_HPKE_PUBLIC_LEN];
	struct cl_policy policy;
	char text[1024];
};

static enum cm_rc feed(void *user, const struct cl_reader_conf *conf, struct cm_err *e)
{
	const struct stage *s = user;
	struct cl_reader *reader;
	enum cm_rc rc = cl_reader_new(conf, &reader, e);

	if (rc != CM_OK)
		return rc;
	rc = cl_reader_feed(reader, (const uint8_t *)s->text, strlen(s->text), e);
	if (rc == CM_OK)
		rc = cl_reader_end(reader, e);
	cl_reader_free(reader);
	return rc;
}

/* The client: from readings to one Submit. */
static void take_part(struct stage *s, const struct scene *scene, unsigned world)
{
	const struct cl_input input = {
		.path = "readings", .feed = feed, .user = s, .format = CL_FORMAT_CSV, .device_field = "device"
	};
	const struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = DEVICES };
	static struct sh_receipt receipt;
	uint8_t pseudonyms[DEVICES * PR_PSEUDONYM_LEN], salts[DEVICES * RD_SALT_LEN], sealed[DEVICES * 256];
	const struct cl_entry *entry;
	struct cl_batch *batch;
	struct cl_rows rows;
	size_t n, at = (size_t)snprintf(s->text, sizeof s->text, "device,f\nvictim,%s\n", scene->row[world]);

	for (unsigned i = 0; i < scene->others_n; i++)
		at += (size_t)snprintf(s->text + at, sizeof s->text - at, "d%u,%s\n", i, scene->others);
	if (cl_prepare_batch(&input, &s->play.d, &s->policy, &s->gateway, &rng, NULL, &batch, &rows, &err) !=
		CM_OK)
		fail_msg("prepare: %s", err.msg);
	entry = cl_batch_entries(batch, &n);
	assert_true(n <= DEVICES && n * cd_device_len(&s->play.d) <= sizeof sealed);
	for (size_t i = 0; i < n; i++)
		memcpy(pseudonyms + i * PR_PSEUDONYM_LEN, entry[i].pseudonym, PR_PSEUDONYM_LEN);
	rng.fill(rng.ctx, salts, sizeof salts);
	if (n > 0)
		assert_int_equal(cl_encode(&s->play.d, entry, n, &rng, sealed, &err), CM_OK);
	const struct sh_submit submit = { .peer = &who,
		.pseudonyms = pseudonyms,
		.pseudonyms_len = n * PR_PSEUDONYM_LEN,
		.salts = salts,
		.salts_len = n * RD_SALT_LEN,
		.sealed = sealed,
		.sealed_len = n * cd_device_len(&s->play.d) };
	if (n > 0 && sh_core_submit(s->play.core, s->play.d.round_id, PR_ROUND_ID_LEN, &submit,
			     s->play.now_ms, &receipt, &s->play.no, &s->play.err) != CM_OK)
		fail_msg("submit: %s", s->play.no.text);
	cl_batch_free(batch);
}

/* The messages in the order of their release, as digits. */
static uint32_t read_batch(struct stage *s)
{
	const struct rd_descriptor *d = &s->play.d;
	struct cr_hpke_opener *opener;
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], record[PT_RECORD_MAX];
	size_t len = rd_sealed_len(d);
	uint32_t view = 0;
	struct cm_buf all;

	cm_buf_init(&all, 1u << 20);
	sh_play_pull(&s->play, 1u << 20, &all);
	rd_hpke_info(d, info);
	rd_hpke_aad(d, aad);
	assert_int_equal(cr_hpke_opener_new(d->suite, &s->secret, info, sizeof info, &opener, &err), CM_OK);
	for (size_t at = 0; at < all.len; at += len) {
		uint64_t counts[BINS] = { 0 };

		assert_int_equal(
			cr_hpke_open(opener, aad, sizeof aad, all.data + at, len, record, &err), CM_OK);
		assert_int_equal(
			pt_protocol_of(d->randomizer.row)->tally(&d->randomizer, record, counts, &err),
			CM_OK);
		view = view * BINS + (uint32_t)(counts[1] + 2 * counts[2]);
	}
	cr_hpke_opener_free(opener);
	cm_buf_fini(&all);
	return view;
}

static uint32_t one_round(struct stage *s, const struct scene *scene, unsigned world)
{
	const struct sh_wish wish = { .row = pt_device_find("grr"),
		.epsilon0 = EPSILON0,
		.min_reports = scene->least,
		.target = scene->least,
		.categories = BINS - 1,
		.none = QY_NONE_SYMBOL,
		.hpke_key = s->hpke_key };
	uint32_t view;

	sh_play_round(&s->play, &wish);
	take_part(s, scene, world);
	sh_play_work(&s->play);
	sh_play_deadline(&s->play);
	sh_play_manifest(&s->play);
	if (s->play.manifest.is_void)
		return VOID + (uint32_t)s->play.manifest.participants;
	sh_play_charge(&s->play);
	if (sh_play_release(&s->play) != CM_OK)
		fail_msg("release: %s", s->play.no.text);
	view = read_batch(s);
	assert_int_equal(sh_play_settle(&s->play), CM_OK);
	assert_true(view < VOID);
	return view;
}

static void begin(struct stage *s)
{
	sh_play_init(&s->play);
	s->play.policy.shared.min_batch = 1;
	s->play.policy.shared.max_epsilon = 1e6;
	s->play.policy.shared.delta = 0.5;
	s->play.policy.max_share = 1;
	sh_play_start(&s->play);
}

/* Another shuffler, with an empty ledger. */
static void begin_afresh(struct stage *s)
{
	sh_play_fini(&s->play);
	begin(s);
}

static void stage_init(struct stage *s)
{
	*s = (struct stage){ .policy = { .shared.max_epsilon0 = (double)INFINITY } };
	assert_int_equal(cr_hpke_keygen(&rng, &s->secret, s->hpke_key, &err), CM_OK);
	rng.fill(rng.ctx, s->gateway.bytes, CR_KEY_LEN);
	begin(s);
}

static void stage_fini(struct stage *s)
{
	sh_play_fini(&s->play);
	cr_key_fini(&s->secret);
	cr_key_fini(&s->gateway);
}

/* ---- Bounds ---- */

/* P(Bin(n, p) >= k), by logarithms. */
static double at_least(int n, int k, double p)
{
	double sum = 0;

	for (int i = k; i <= n; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
			   (n - i) * log1p(-p));
	return sum;
}

/* Clopper and Pearson 1934: the chance that would show k or more of n just with RISK. */
static double lower_chance(int k, int n)
{
	double low = 0, high = 1;

	if (k == 0)
		return 0;
	for (int i = 0; i < 60; i++) {
		double p = (low + high) / 2;

		if (at_least(n, k, p) < RISK)
			low = p;
		else
			high = p;
	}
	return low;
}

static double upper_chance(int k, int n)
{
	return 1 - lower_chance(n - k, n);
}

/* ---- The attack ---- */

struct seen {
	int of[2][VIEWS];
};

static void watch(struct stage *s, const struct scene *scene, int rounds, struct seen *out)
{
	memset(out, 0, sizeof *out);
	for (int i = 0; i < rounds; i++) {
		for (unsigned world = 0; world < 2; world++)
			out->of[world][one_round(s, scene, world)]++;
		if (i % AFRESH == AFRESH - 1)
			begin_afresh(s);
	}
}

static const struct seen *sorting;
static unsigned sorting_for;

/* Views by how much likelier they are in one world, the most telling first. */
static int by_ratio(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	double r = (sorting->of[sorting_for][x] + 0.5) / (sorting->of[!sorting_for][x] + 0.5);
	double t = (sorting->of[sorting_for][y] + 0.5) / (sorting->of[!sorting_for][y] + 0.5);

	return r > t ? -1 : r < t;
}

/* The order of messages tells nothing if the shuffler permutes: an attacker may look at it or not. */
static uint32_t without_order(uint32_t view)
{
	uint32_t counts[BINS] = { 0 };

	if (view >= VOID)
		return view;
	for (unsigned i = 0; i < DEVICES; i++, view /= BINS)
		counts[view % BINS]++;
	return counts[1] * (DEVICES + 1) + counts[2];
}

static struct seen merged(const struct seen *all)
{
	struct seen out = { 0 };

	for (unsigned world = 0; world < 2; world++)
		for (uint32_t v = 0; v < VIEWS; v++)
			out.of[world][without_order(v)] += all->of[world][v];
	return out;
}

static double bound(int in_one, int in_other, int rounds)
{
	double more = lower_chance(in_one, rounds) - DELTA, less = upper_chance(in_other, rounds);

	return more > less ? log(more / less) : 0;
}

/* The best event of `learn` for one world against the other, by what its bound would be there; its bound on
 * `test`. */
static double attack(const struct seen *learn, const struct seen *test, unsigned world)
{
	static uint32_t order[VIEWS];
	double best = 0, value = 0;
	int one = 0, other = 0, test_one = 0, test_other = 0;

	for (uint32_t v = 0; v < VIEWS; v++)
		order[v] = v;
	sorting = learn;
	sorting_for = world;
	qsort(order, VIEWS, sizeof *order, by_ratio);
	for (uint32_t i = 0; i < VIEWS; i++) {
		one += learn->of[world][order[i]];
		other += learn->of[!world][order[i]];
		test_one += test->of[world][order[i]];
		test_other += test->of[!world][order[i]];
		double here = bound(one, other, LEARN);

		if (here > best) {
			best = here;
			value = bound(test_one, test_other, TEST);
		}
	}
	return value;
}

static double epsilon_seen(struct stage *s, const struct scene *scene)
{
	static struct seen learn, test;
	struct seen plain_learn, plain_test;
	double best = 0;

	watch(s, scene, LEARN, &learn);
	watch(s, scene, TEST, &test);
	plain_learn = merged(&learn);
	plain_test = merged(&test);
	for (unsigned world = 0; world < 2; world++) {
		best = fmax(best, attack(&plain_learn, &plain_test, world));
		best = fmax(best, attack(&learn, &test, world));
	}
	return best;
}

/* ---- What is charged, and what is true ---- */

static double charged(const struct rd_descriptor *d)
{
	struct acct_bound eps;
	struct pt_loss loss;

	assert_int_equal(rd_loss(d, &loss, &err), CM_OK);
	assert_int_equal(acct_epsilon(loss.part, loss.parts, DELTA, &eps), ACCT_OK);
	return eps.upper;
}

static uint32_t held(const char *field)
{
	return strcmp(field, "a") == 0 ? 0 : strcmp(field, "b") == 0 ? 1 : 2;
}

/* The exact epsilon of this batch, by enumeration. */
static double exactly(const struct scene *scene, const struct pt_randomizer *p)
{
	struct batch b = { .symbols = BINS, .messages = DEVICES };
	double low = 0, high = EPSILON0;
	long double keep = ldexpl((long double)p->mixbins.keep, -64), other = (1 - keep) / (BINS - 1);

	for (unsigned world = 0; world < 2; world++)
		for (uint32_t i = 0; i < DEVICES; i++)
			for (uint32_t y = 0; y < BINS; y++)
				b.law[world][i][y] =
					y == held(i == 0 ? scene->row[world] : scene->others) ? keep : other;
	for (int i = 0; i < 50; i++) {
		double e = (low + high) / 2;

		if (fmax(exact_delta(&b, e, false), exact_delta(&b, e, true)) > DELTA)
			low = e;
		else
			high = e;
	}
	return low;
}

static void check(const struct scene *scene)
{
	static struct stage s;
	double seen, charge, truth;

	stage_init(&s);
	seen = epsilon_seen(&s, scene);
	(void)one_round(&s, scene, 0); /* its descriptor is like all others */
	charge = charged(&s.play.d);
	truth = scene->least == DEVICES ? exactly(scene, &s.play.d.randomizer) : 0;
	stage_fini(&s);
	print_message("%s or %s among %u of %s: at least %.3f is seen, %.3f is true, %.3f is charged\n",
		scene->row[0], scene->row[1], scene->others_n, scene->others, seen, truth, charge);
	assert_true(seen <= charge);
	assert_true(truth <= charge);
	assert_true(seen >= 0.8 * truth);
}

static void a_category_of_one_device(void **state)
{
	(void)state;
	check(&(struct scene){ { "a", "b" }, "broken", DEVICES - 1, DEVICES });
}

/* Participation is the same, so that what is seen is what its message says. */
static void a_reading_or_none(void **state)
{
	(void)state;
	check(&(struct scene){ { "a", "" }, "b", DEVICES - 1, DEVICES });
}

/* A round in which nobody else takes part is void, and nobody reads its messages. */
static void a_device_alone(void **state)
{
	(void)state;
	check(&(struct scene){ { "a", "b" }, "", 0, 1000 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_category_of_one_device),
		cmocka_unit_test(a_reading_or_none),
		cmocka_unit_test(a_device_alone),
	};

	return RUN_SEEDED(tests, &rng, "pipeline");
}
