/* sh_rehearse.c - what would become of a plan that nobody pins. */
#include "sh_rehearse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "cm_text.h"
#include "rd_wire.h"
#include "sh_round.h"

#define SLOTS (2 * (size_t)SH_REHEARSE_ASKED)

void sh_rehearse_init(struct sh_rehearse *r, const struct sh_policy *policy, const struct sh_plans *plans,
	const struct cr_verifier *analyzer)
{
	*r = (struct sh_rehearse){ .policy = policy, .plans = plans, .analyzer = analyzer };
	cm_buf_init(&r->draft, PR_PLAN_MAX);
}

static void forget(struct sh_rehearse *r)
{
	rd_plan_fini(&r->whole);
	free(r->asked);
	free(r->slot);
	free(r->kept);
	free(r->would);
	r->asked = NULL;
	r->slot = NULL;
	r->kept = NULL;
	r->would = NULL;
	r->asks = r->asked_cap = r->waiting = r->keeps = 0;
	r->unfinished = false;
	r->taken = (struct rd_pin){ .entries = 0 };
	r->faults = (struct rd_faults){ .n = 0 };
	r->at = SH_DRAFT_DECIDED;
}

void sh_rehearse_fini(struct sh_rehearse *r)
{
	forget(r);
	cm_buf_fini(&r->draft);
}

/* Entries of the draft as bits: an adaptive plan has none, and one bit as a whole. */
static size_t bits(const struct sh_rehearse *r)
{
	return rd_plan_is_adaptive(&r->whole) ? 1 : r->whole.entries;
}

/* ---- The shuffler's own part ---- */

/* Decide about a plan that is in the ledger by its pin, and about any other as if it came. */
static void decide(struct sh_rehearse *r)
{
	const struct sh_plan *known = sh_plans_find(r->plans, r->whole.hash);
	struct sh_plan plan = known ? *known : sh_plan_of(&r->whole);
	struct sh_refusal no, unused;
	struct rd_descriptor d;

	if (!known)
		plan.state = sh_plans_decide(r->plans, &plan);
	r->taken.entries = bits(r);
	switch (sh_plans_refused(r->plans, &plan, &no)) {
	case CM_OK:
		if (plan.pin)
			r->taken = *plan.pin;
		else
			r->taken.taken[0] = 1;
		break;
	case CM_EMORE:
		r->at = known ? SH_DRAFT_DECIDED : SH_DRAFT_WAITS;
		r->unfinished = true;
		break;
	default:
		rd_faults_add(&r->faults, 0, no.text);
		for (size_t i = 0; i < r->whole.entries; i++) {
			rd_plan_descriptor(&r->whole, i, &d);
			(void)(sh_policy_judge_entry(r->policy, &d, &r->faults, &unused) == CM_OK);
		}
	}
}

enum cm_rc sh_rehearse_compose(struct sh_rehearse *r, struct sh_compose **out, struct cm_err *err)
{
	if (r->number == 0 || r->at != SH_DRAFT_WAITS)
		return CM_OK;
	enum cm_rc rc =
		sh_compose_draft(r->policy, (struct cr_span){ r->draft.data, r->draft.len }, out, err);
	if (rc == CM_OK) {
		r->at = SH_DRAFT_RUNS;
		r->runs_for = r->number;
	}
	return rc;
}

void sh_rehearse_reconsider(struct sh_rehearse *r)
{
	if (r->number == 0)
		return;
	r->at = SH_DRAFT_DECIDED;
	r->unfinished = false;
	r->taken = (struct rd_pin){ .entries = 0 };
	r->faults = (struct rd_faults){ .n = 0 };
	decide(r);
}

bool sh_rehearse_outlived(const struct sh_rehearse *r)
{
	return r->runs_for != 0 && r->runs_for != r->number;
}

void sh_rehearse_composed(struct sh_rehearse *r, const struct sh_compose *w)
{
	bool outlived = sh_rehearse_outlived(r);

	r->runs_for = 0;
	if (outlived || !w)
		return;
	r->at = SH_DRAFT_DECIDED;
	r->taken = w->pin;
	r->faults = w->faults;
	r->unfinished = w->rc == CM_ELATER;
	if (w->rc != CM_OK && w->rc != CM_ELATER)
		rd_faults_add(&r->faults, 0, w->err.msg);
}

/* ---- Its begin and its end ---- */

static enum cm_rc check_rest(const struct sh_rehearse *r, int64_t mono_ms, struct sh_refusal *no)
{
	const Tombola__V1__ErrorCode busy = TOMBOLA__V1__ERROR_CODE__ERROR_BUSY;

	if (r->number != 0 || r->runs_for != 0)
		return sh_refuse(no, busy, SH_REHEARSE_REST_MS, "another rehearsal is under way");
	if (CM_CHECKED("shuffler.rehearse.rest") && mono_ms < r->again_ms)
		return sh_refuse(
			no, busy, (uint32_t)(r->again_ms - mono_ms), "the last rehearsal was a moment ago");
	return CM_OK;
}

enum cm_rc sh_rehearse_begin(struct sh_rehearse *r, const Tombola__V1__Rehearse *question, int64_t now_ms,
	int64_t mono_ms, struct sh_refusal *no, struct cm_err *err)
{
	struct rd_plan whole;

	enum cm_rc rc = check_rest(r, mono_ms, no);
	if (rc != CM_OK)
		return rc;
	rc = rd_rehearsal_verify(question, r->analyzer, r->policy->shared.population, now_ms, &whole, err);
	rc = sh_refuse_unverified(no, rc, err);
	if (rc != CM_OK)
		return rc;
	forget(r);
	r->whole = whole;
	r->draft.len = 0;
	r->slot = calloc(SLOTS, sizeof *r->slot);
	r->kept = calloc(PR_REHEARSED_MAX, sizeof *r->kept);
	r->would = calloc(whole.entries + 1, sizeof *r->would);
	if (!r->slot || !r->kept || !r->would ||
		cm_buf_put(&r->draft, question->draft.data, question->draft.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	memcpy(r->signature, question->signature.data, sizeof r->signature);
	r->asked_ms = question->asked_ms;
	r->off_ms = now_ms - question->asked_ms;
	r->number = ++r->last;
	decide(r);
	return CM_OK;
}

void sh_rehearse_end(struct sh_rehearse *r, int64_t mono_ms)
{
	if (r->number == 0)
		return;
	r->number = 0;
	r->again_ms = mono_ms + SH_REHEARSE_REST_MS;
	forget(r);
	cm_buf_fini(&r->draft);
}

bool sh_rehearse_is_done(const struct sh_rehearse *r)
{
	return r->waiting == 0 && r->at == SH_DRAFT_DECIDED;
}

/* ---- Clients ---- */

/* The slot of this certificate, or the free one where it belongs. */
static uint32_t *slot_of(const struct sh_rehearse *r, const uint8_t key_hash[PR_HASH_LEN])
{
	size_t at = cm_get_le32(key_hash) % SLOTS;

	while (r->slot[at] != 0 && memcmp(r->asked[r->slot[at] - 1].key_hash, key_hash, PR_HASH_LEN) != 0)
		at = (at + 1) % SLOTS;
	return &r->slot[at];
}

enum cm_rc sh_rehearse_ask(struct sh_rehearse *r, const struct cr_identity *who, struct cm_err *err)
{
	uint32_t *slot = slot_of(r, who->key_hash);

	if (*slot != 0 || r->asks == SH_REHEARSE_ASKED)
		return CM_ELATER;
	void *room = cm_grow(r->asked, r->asks, &r->asked_cap, sizeof *r->asked);
	if (!room)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	r->asked = room;
	struct sh_asked *a = &r->asked[r->asks++];
	*slot = (uint32_t)r->asks;
	*a = (struct sh_asked){ .devices = who->devices, .said = SH_REHEARSED_SILENT };
	memcpy(a->key_hash, who->key_hash, PR_HASH_LEN);
	cm_text_copy(a->name, sizeof a->name, who->name);
	r->waiting++;
	return CM_OK;
}

/* Add the devices of a client to the entries: as many as a round would take of them. */
static void count(struct sh_rehearse *r, const struct sh_asked *a, const struct sh_kept *k)
{
	for (size_t i = 0; i < r->whole.entries; i++) {
		uint64_t most = sh_most_of_one(r->policy->max_share, r->whole.entry[i].target);
		uint64_t may = k->listed > 0 && k->listed < a->devices ? k->listed : a->devices;
		struct sh_would *w = &r->would[i];

		w->could += may < most ? may : most;
		w->largest = may > w->largest ? may : w->largest;
		if (!rd_pin_has(&k->taken, i))
			continue;
		if (CM_CHECKED("shuffler.rehearse.devices") && most > a->devices)
			most = a->devices;
		w->listed += k->listed;
		w->participants += k->listed < most ? k->listed : most;
		w->at_most += k->listed > 0 && k->listed < most ? k->listed : most;
	}
}

/* Where to keep an answer: in a free place, or, if it names faults, in place of one that names none. */
static struct sh_kept *place_of(struct sh_rehearse *r, bool faulty)
{
	if (r->keeps < PR_REHEARSED_MAX)
		return &r->kept[r->keeps++];
	for (size_t i = 0; faulty && i < r->keeps; i++)
		if (r->kept[i].faults.n == 0)
			return &r->kept[i];
	return NULL;
}

bool sh_rehearse_answer(
	struct sh_rehearse *r, const struct cr_identity *who, const Tombola__V1__RehearsalAnswer *answer)
{
	uint32_t at = r->number != 0 ? *slot_of(r, who->key_hash) : 0;
	struct sh_asked *a = at > 0 ? &r->asked[at - 1] : NULL;
	struct sh_kept k = { .unfinished = answer->unfinished };

	if (!a || a->said != SH_REHEARSED_SILENT || answer->draft_hash.len != PR_HASH_LEN ||
		memcmp(answer->draft_hash.data, r->whole.hash, PR_HASH_LEN) != 0)
		return false;
	r->waiting--;
	a->said = answer->declined ? SH_REHEARSED_DECLINED : SH_REHEARSED_ANSWERED;
	if (answer->declined)
		return true;
	k.asked = (size_t)(a - r->asked);
	k.listed = answer->devices < PR_ROUND_REPORTS_MAX ? answer->devices : PR_ROUND_REPORTS_MAX;
	rd_taken_read(&answer->taken, bits(r), &k.taken);
	rd_faults_read(answer->faults, answer->n_faults, &k.faults);
	count(r, a, &k);
	struct sh_kept *place = place_of(r, k.faults.n > 0);
	if (place)
		*place = k;
	return true;
}

/* ---- The result ---- */

/* Storage for the messages of a result while it is sent. */
struct telling {
	Tombola__V1__Rehearsed result;
	struct rd_faults of_ours;
	struct rd_faults_wire faults;
	Tombola__V1__RehearsedCertificate certificate[PR_REHEARSED_MAX], *certificates[PR_REHEARSED_MAX];
	struct rd_faults_wire faults_of[PR_REHEARSED_MAX];
	Tombola__V1__RehearsedEntry entry[PR_ENTRIES_MAX], *entries[PR_ENTRIES_MAX];
};

static int by_hash(const void *a, const void *b)
{
	return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, PR_HASH_LEN);
}

/* Number of certificates that are connected and were not asked. */
static enum cm_rc count_unasked(
	const struct sh_rehearse *r, const uint8_t **connected, size_t n, uint32_t *out, struct cm_err *err)
{
	*out = 0;
	if (n == 0) /* qsort wants an array even of nothing */
		return CM_OK;
	const uint8_t **asked = malloc((r->asks + 1) * sizeof *asked);
	if (!asked)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < r->asks; i++)
		asked[i] = r->asked[i].key_hash;
	qsort(asked, r->asks, sizeof *asked, by_hash);
	qsort(connected, n, sizeof *connected, by_hash);
	for (size_t i = 0; i < n; i++)
		*out += (i == 0 || by_hash(&connected[i - 1], &connected[i]) != 0) &&
			!bsearch(&connected[i], asked, r->asks, sizeof *asked, by_hash);
	free(asked);
	return CM_OK;
}

static Tombola__V1__RehearsedCertificate *add_certificate(struct telling *t, const struct sh_asked *a)
{
	size_t i = t->result.n_certificates++;
	Tombola__V1__RehearsedCertificate *c = &t->certificate[i];

	tombola__v1__rehearsed_certificate__init(c);
	c->name = rd_wire_text(a->name);
	c->devices = a->devices;
	c->state = (uint32_t)a->said;
	t->certificates[i] = c;
	return c;
}

static void add_kept(struct telling *t, const struct sh_rehearse *r, const struct sh_kept *k)
{
	struct rd_faults_wire *faults = &t->faults_of[t->result.n_certificates];
	Tombola__V1__RehearsedCertificate *c = add_certificate(t, &r->asked[k->asked]);

	c->listed = k->listed;
	c->taken = rd_wire_bytes(k->taken.taken, rd_taken_len(&k->taken));
	c->unfinished = k->unfinished;
	rd_faults_wire(&k->faults, faults);
	c->n_faults = k->faults.n;
	c->faults = faults->at;
}

/* First those with faults, then those that say nothing, then the others. */
static void add_certificates(struct telling *t, const struct sh_rehearse *r)
{
	for (size_t i = 0; i < r->keeps; i++)
		if (r->kept[i].faults.n > 0)
			add_kept(t, r, &r->kept[i]);
	for (size_t i = 0; i < r->asks && t->result.n_certificates < PR_REHEARSED_MAX; i++)
		if (r->asked[i].said != SH_REHEARSED_ANSWERED)
			(void)add_certificate(t, &r->asked[i]);
	for (size_t i = 0; i < r->keeps && t->result.n_certificates < PR_REHEARSED_MAX; i++)
		if (r->kept[i].faults.n == 0)
			add_kept(t, r, &r->kept[i]);
}

/* Say where max_share alone keeps an entry from its min_reports, whatever else is corrected: with the share,
 * in hundredths, that lets the largest certificate in. */
static void explain_share(const struct sh_rehearse *r, struct rd_faults *faults)
{
	for (size_t i = 0; i < r->whole.entries; i++) {
		const struct rd_entry *e = &r->whole.entry[i];
		uint64_t most = sh_most_of_one(r->policy->max_share, e->target);
		const struct sh_would *w = &r->would[i];
		char text[PR_TEXT_MAX + 1];

		if (w->could >= e->min_reports || w->largest <= most)
			continue;
		(void)snprintf(text, sizeof text,
			"policy: max_share is %g, so at most %" PRIu64
			" devices of one certificate take part at target %" PRIu64 ", and one has %" PRIu64
			": raise it to %g",
			r->policy->max_share, most, e->target, w->largest,
			fmin(1, ceil(100.0 * (double)w->largest / (double)e->target) / 100));
		rd_faults_add(faults, e->number, text);
	}
}

static void add_entries(struct telling *t, const struct sh_rehearse *r)
{
	for (size_t i = 0; i < r->whole.entries; i++) {
		const struct sh_would *w = &r->would[i];
		uint64_t target = r->whole.entry[i].target;

		tombola__v1__rehearsed_entry__init(&t->entry[i]);
		t->entry[i].listed = w->listed;
		t->entry[i].participants = w->participants < target ? w->participants : target;
		t->entry[i].at_most = w->at_most < target ? w->at_most : target;
		t->entries[i] = &t->entry[i];
	}
	t->result.n_entries = r->whole.entries;
	t->result.entries = t->entries;
}

enum cm_rc sh_rehearse_tell(struct sh_rehearse *r, const uint8_t **connected, size_t n,
	void (*tell)(void *user, Tombola__V1__Rehearsed *result), void *user, struct cm_err *err)
{
	struct telling *t = calloc(1, sizeof *t);

	if (!t)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	tombola__v1__rehearsed__init(&t->result);
	enum cm_rc rc = count_unasked(r, connected, n, &t->result.unasked, err);
	for (size_t i = 0; i < r->asks; i++) {
		t->result.answered += r->asked[i].said == SH_REHEARSED_ANSWERED;
		t->result.declined += r->asked[i].said == SH_REHEARSED_DECLINED;
		t->result.silent += r->asked[i].said == SH_REHEARSED_SILENT;
	}
	t->of_ours = r->faults;
	rd_faults_add_clock(&t->of_ours, "shuffler", r->off_ms);
	explain_share(r, &t->of_ours);
	sh_policy_places(r->policy, &t->of_ours);
	rd_faults_wire(&t->of_ours, &t->faults);
	t->result.draft_hash = rd_wire_bytes(r->whole.hash, PR_HASH_LEN);
	t->result.taken = rd_wire_bytes(r->taken.taken, rd_taken_len(&r->taken));
	t->result.unfinished = r->unfinished || r->at != SH_DRAFT_DECIDED;
	t->result.n_faults = t->of_ours.n;
	t->result.faults = t->faults.at;
	t->result.max_share = r->policy->max_share;
	t->result.certificates = t->certificates;
	add_certificates(t, r);
	add_entries(t, r);
	if (rc == CM_OK)
		tell(user, &t->result);
	free(t);
	return rc;
}
