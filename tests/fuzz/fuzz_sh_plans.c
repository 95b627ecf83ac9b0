/* fuzz_sh_plans.c - a shuffler's ledger in any order of plans, reservations, announces, pins, tries, restarts
 * and garbage, over its real storage and with the real accountant, against what must hold: slices within the
 * budget, each entry sealed once and in the order of its tries, sealed entries of a plan within its slice,
 * and the same after every restart. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fuzz_kept.h"
#include "fuzz_sign.h"
#include "must.h"
#include "seldom.h"
#include "sh_memory.h"
#include "sh_play.h"

#define PLANS   6u
#define ENTRIES 4u
#define STEPS   40u
#define BUDGET  8.0
#define DEVICES 12u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct plan {
	uint8_t hash[PR_HASH_LEN];
	struct sh_wish wish; /* of its rounds */
	double slice;
	bool adaptive;
	uint32_t tries[ENTRIES + 1]; /* that were announced */
	unsigned sealed[ENTRIES + 1];
	uint8_t manifest[ENTRIES + 1][PR_HASH_LEN];
	struct pt_loss loss;       /* of one round */
	unsigned kind;             /* of round; plans of one kind differ in slice and mode */
	struct rd_account *filter; /* adaptive: of what was sealed */
};

struct model {
	struct plan plan[PLANS];
	size_t plans;
	struct plan *at; /* of the last descriptor */
	bool open;
	uint8_t open_id[PR_ROUND_ID_LEN];
	struct rd_descriptor shown; /* as announced: numbers only */
};

static struct sh_play play;

/* The ledger as the analyzer has it, unless the shuffler refused what was added. */
static enum cm_rc show(struct rd_record *r)
{
	struct rd_chain before = play.chain;
	enum cm_rc rc = sh_play_record(&play, r);

	must(rc == CM_OK || rc == CM_EPROTO);
	if (rc != CM_OK)
		play.chain = before;
	must(sh_core_witness(play.core).seq == play.chain.seq);
	return rc;
}

static void new_plan(struct model *m, uint8_t op)
{
	static const double slices[] = { 0.4, 1.5, 4, 8.1 };
	static const uint64_t batches[] = { 2, 4, 8, 12 };
	struct plan *p = &m->plan[m->plans];
	struct rd_record r;

	_Static_assert(ENTRIES <= KEPT_ROUNDS, "epsilons that are kept");
	if (m->plans == PLANS)
		return;
	*p = (struct plan){ .slice = slices[op & 3], .kind = op >> 2 & 15, .adaptive = (op >> 6) == 3 };
	p->wish = (struct sh_wish){ .min_reports = batches[op >> 2 & 3],
		.target = DEVICES,
		.epsilon0 = 0.5 + (op >> 4 & 3),
		.entries = ENTRIES,
		.plan_tries = 4,
		.slice = p->slice,
		.mode = p->adaptive ? "adaptive.gdp" : "plan",
		.entry = 1 };
	/* A descriptor of its kind first, for the plan to be made of. */
	sh_play_describe(&play, &p->wish);
	must(rd_loss(&play.d, &p->loss, &play.err) == CM_OK);
	sh_play_plan_make(&play, &p->wish, &play.d, &r);
	must(show(&r) == CM_OK);
	cr_sha256(play.plan.data, play.plan.len, play.plan_hash);
	memcpy(p->hash, play.plan_hash, PR_HASH_LEN);
	play.plans++;
	m->plans++;
}

static void compose(bool stopped)
{
	const atomic_bool stop = stopped;
	struct sh_compose *w;

	must(sh_core_compose(play.core, &w, &play.err) == CM_OK);
	if (!w)
		return;
	sh_compose_run(w, &stop);
	must(w->rc == CM_OK || w->rc == CM_ELATER);
	must(sh_core_composed(play.core, w, &play.err) == CM_OK);
	sh_compose_free(w);
}

static void reserve(struct model *m, uint8_t op)
{
	struct plan *p = m->plans > 0 ? &m->plan[op % m->plans] : NULL;
	uint8_t latest[PR_HASH_LEN];
	uint32_t entry = op >> 3 & 3;

	if (!p)
		return;
	struct sh_wish wish = p->wish;
	wish.entry = entry == 0 ? ENTRIES : entry;
	wish.attempt = p->tries[wish.entry] + 1 - (op >> 6 == 1 && p->tries[wish.entry] > 0);
	wish.attempt = wish.attempt > 4 ? 4 : wish.attempt;
	uint8_t named[PR_HASH_LEN];
	memcpy(named, p->manifest[wish.entry], PR_HASH_LEN);
	named[0] ^= op >> 6 == 2;
	wish.void_manifest = wish.attempt > 1 && !p->adaptive ? named : NULL;
	if (op >> 6 == 3 && (op & 4))
		wish.min_reports--;
	else if (op >> 6 == 3)
		wish.void_manifest = NULL;
	memcpy(latest, play.plan_hash, PR_HASH_LEN);
	memcpy(play.plan_hash, p->hash, PR_HASH_LEN);
	sh_play_describe(&play, &wish);
	memcpy(play.plan_hash, latest, PR_HASH_LEN);
	struct rd_chain before = play.chain;
	must(sh_play_reserve(&play) == CM_OK || play.no.code == TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER);
	if (sh_core_witness(play.core).seq != play.chain.seq)
		play.chain = before;
	m->at = p;
}

static struct plan *plan_of(struct model *m, const struct rd_descriptor *d)
{
	for (size_t i = 0; i < m->plans; i++)
		if (memcmp(m->plan[i].hash, d->plan_hash, PR_HASH_LEN) == 0)
			return &m->plan[i];
	return NULL;
}

static void announce(struct model *m)
{
	uint64_t newest = sh_core_newest(play.core);

	if (!m->at || sh_play_announce(&play) != CM_OK || sh_core_newest(play.core) == newest)
		return;
	/* The shuffler took the entry, so check that it had to. */
	const struct rd_descriptor *d = &sh_core_collecting(play.core)->d;
	const struct sh_plan *pinned = NULL;
	struct plan *p = plan_of(m, d);

	must(!m->open && p);
	for (size_t i = 0;
		(pinned = sh_core_plan_at(play.core, i)) && memcmp(pinned->hash, p->hash, PR_HASH_LEN) != 0;)
		i++;
	must(pinned && pinned->state == SH_PIN_TAKEN);
	must(p->adaptive || d->min_reports == p->wish.min_reports);
	m->open = true;
	memcpy(m->open_id, d->round_id, PR_ROUND_ID_LEN);
	if (p->adaptive)
		return;
	must(rd_pin_has(pinned->pin, d->entry - 1) && p->sealed[d->entry] == 0);
	must(d->attempt == ++p->tries[d->entry] && d->attempt <= (uint64_t)play.policy.shared.max_tries);
	must(d->attempt == 1 || memcmp(d->void_manifest, p->manifest[d->entry], PR_HASH_LEN) == 0);
}

static void submit(const struct model *m, uint8_t op)
{
	struct sh_receipt receipt;

	if (!m->open || !sh_core_collecting(play.core))
		return;
	rd_descriptor_fini(&play.d);
	const struct sh_round *r = sh_core_collecting(play.core);
	must(rd_descriptor_decode(r->descriptor.data, r->descriptor.len, &play.d, &play.err) == CM_OK);
	must(sh_play_submit(&play, 0, 1000000, 0, 1 + op % DEVICES, &receipt) == CM_OK ||
		play.now_ms >= play.d.deadline_ms);
	sh_play_work(&play);
}

/* What became of the open round. */
static void ended(struct model *m)
{
	struct sh_signed *got = calloc(1, sizeof *got);
	struct rd_manifest manifest;
	struct rd_descriptor d;

	must(got != NULL);
	if (m->open && !sh_core_collecting(play.core)) {
		must(sh_core_manifest(play.core, m->open_id, PR_ROUND_ID_LEN, got, &play.no, &play.err) ==
			CM_OK);
		d = m->shown;
		must(rd_manifest_verify(got->bytes, got->len, got->signature, play.shuffler.verifier, &d,
			     &manifest, &play.err) == CM_OK);
		struct plan *p = plan_of(m, &d);
		must(p != NULL);
		if (!manifest.is_void && p->adaptive)
			kept_filter(&p->filter, p->slice, &d);
		else if (!manifest.is_void)
			must(++p->sealed[d.entry] == 1);
		cr_sha256(got->bytes, got->len, p->manifest[d.entry]);
		rd_manifest_fini(&manifest);
		m->open = false;
	}
	free(got);
}

static void keep_shown(struct model *m)
{
	const struct sh_round *r = sh_core_collecting(play.core);

	if (r) {
		rd_descriptor_fini(&m->shown);
		must(rd_descriptor_decode(r->descriptor.data, r->descriptor.len, &m->shown, &play.err) ==
			CM_OK);
	}
}

static void void_round(const struct model *m)
{
	struct rd_record r = { .kind = RD_VOID, .reason = "gave up" };

	if (!m->open)
		return;
	memcpy(r.round_id, m->open_id, PR_ROUND_ID_LEN);
	(void)show(&r);
	sh_play_work(&play);
}

/* Signed, so that it is read: the last record bent, or any bytes; again, out of turn, or next. */
static void garbage(const uint8_t *data, size_t size, uint8_t op)
{
	struct cm_buf bent;
	uint64_t firsts[] = { play.chain.seq + 1, play.chain.seq, 1, UINT64_MAX };

	cm_buf_init(&bent, PR_RECORD_MAX);
	must(cm_buf_put(&bent, play.record.data, play.record.len) == CM_OK);
	if (op & 1 && bent.len > 0)
		bent.data[size * 7919 % bent.len] ^= (uint8_t)(1 + (op >> 3));
	const struct cr_span span =
		op & 2 ? (struct cr_span){ data, size } : (struct cr_span){ bent.data, bent.len };
	uint8_t kept[PR_HASH_LEN];
	memcpy(kept, play.before, PR_HASH_LEN);
	enum cm_rc rc = sh_play_extend(&play, firsts[op >> 2 & 3], &span, 1);
	must(rc == CM_OK || rc == CM_EPROTO);
	struct rd_chain head = sh_core_witness(play.core);
	if (head.seq == play.chain.seq + 1) /* a record by chance: the analyzer's is the same */
		play.chain = head;
	must(head.seq == play.chain.seq && memcmp(head.head, play.chain.head, PR_HASH_LEN) == 0);
	memcpy(play.before, kept, PR_HASH_LEN);
	cm_buf_fini(&bent);
}

/* ---- What must hold ---- */

struct seen {
	enum sh_pin_state state;
	struct rd_pin pin;
	size_t tries;
};

static size_t look(struct seen seen[], size_t most)
{
	const struct sh_plan *plan = NULL;
	size_t n = 0;

	for (; (plan = sh_core_plan_at(play.core, n)) && n < most; n++) {
		seen[n] = (struct seen){ .state = plan->state, .tries = plan->tries };
		if (plan->pin)
			seen[n].pin = *plan->pin;
	}
	return n;
}

static void restart(void)
{
	struct seen before[4 * PLANS], after[4 * PLANS];
	struct rd_slices taken = sh_core_taken(play.core);
	size_t n = look(before, 4 * PLANS);

	sh_play_stop(&play);
	sh_play_start(&play); /* composes what waits */
	must(look(after, 4 * PLANS) == n);
	for (size_t i = 0; i < n; i++) {
		must(before[i].state == SH_PIN_WAITS || before[i].state == after[i].state);
		must(before[i].state == SH_PIN_WAITS ||
			memcmp(&before[i].pin, &after[i].pin, sizeof before[i].pin) == 0);
		must(before[i].tries == after[i].tries);
	}
	must(sh_core_taken(play.core).epsilon >= taken.epsilon);
}

static void slices_fit(void)
{
	const struct sh_plan *plan = NULL;
	double sum = 0;

	for (size_t i = 0; (plan = sh_core_plan_at(play.core, i)); i++)
		sum += plan->state == SH_PIN_TAKEN ? plan->epsilon : 0;
	must(sum <= BUDGET * (1 + 1e-12) && fabs(sum - sh_core_taken(play.core).epsilon) < 1e-9);
}

/* What was sealed of a plan, composed by itself. */
static void sealed_within_slice(const struct plan *p)
{
	unsigned sealed = 0;

	for (size_t e = 1; e <= ENTRIES; e++)
		sealed += p->sealed[e];
	must(p->adaptive || kept_epsilon(p->kind, &p->loss, sealed) <= p->slice * (1 + 1e-9));
}

static void step(struct model *m, const uint8_t *data, size_t size)
{
	uint8_t op = data[0], arg = size > 1 ? data[1] : 0;

	switch (op % 12) {
	case 0:
		new_plan(m, arg);
		break;
	case 1:
		compose(arg % 8 == 0);
		break;
	case 2:
	case 3:
		reserve(m, arg);
		break;
	case 4:
	case 5:
		announce(m);
		break;
	case 6:
		submit(m, arg);
		break;
	case 7:
		if (sh_core_collecting(play.core) &&
			play.now_ms < sh_core_collecting(play.core)->d.deadline_ms)
			play.now_ms = sh_core_collecting(play.core)->d.deadline_ms;
		sh_play_work(&play);
		break;
	case 8:
		void_round(m);
		break;
	case 9:
		garbage(data, size, arg);
		break;
	case 10:
		restart();
		break;
	default:
		play.now_ms += 1000 * arg;
	}
	keep_shown(m);
	ended(m);
	slices_fit();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t keys[2] = { 1, 2 };
	const struct round_keys analyzer = { fuzz_signer(&keys[0]), fuzz_verifier(&keys[0]) },
				shuffler = { fuzz_signer(&keys[1]), fuzz_verifier(&keys[1]) };
	struct model m = { .plans = 0 };

	struct sh_memory *memory = seldom(data, size, 64) ? NULL : sh_memory_new();

	kept_anew = seldom(data, size, 256);
	sh_play_init_with(&play, &analyzer, &shuffler);
	play.policy.shared.max_epsilon = BUDGET;
	play.policy.shared.accept_adaptive = true;
	if (memory)
		play.kept = sh_memory_store(memory);
	sh_play_start(&play);
	for (size_t i = 0; 2 * i < size && i < STEPS; i++)
		step(&m, data + 2 * i, size - 2 * i);
	for (size_t i = 0; i < m.plans; i++) {
		sealed_within_slice(&m.plan[i]);
		rd_account_free(m.plan[i].filter);
	}
	rd_descriptor_fini(&m.shown);
	sh_play_fini(&play);
	sh_memory_free(memory);
	return 0;
}
