/* an_rehearse.c - asks what would become of a plan, and judges the answer. */
#include "an_rehearse.h"

#include <stdlib.h>
#include <string.h>

#include "cm_text.h"
#include "rd_wire.h"

enum cm_rc an_rehearse_ask(const struct rd_plan *plan, const struct cr_signer *signer, int64_t now_ms,
	struct cm_buf *draft, uint8_t signature[CR_SIGN_LEN], Tombola__V1__Rehearse *out, struct cm_err *err)
{
	draft->len = 0;

	enum cm_rc rc = rd_plan_encode(plan, draft, err);
	if (rc == CM_OK)
		rc = rd_rehearsal_sign(
			signer, (struct cr_span){ draft->data, draft->len }, now_ms, signature, err);
	tombola__v1__rehearse__init(out);
	out->draft = rd_wire_bytes(draft->data, draft->len);
	out->signature = rd_wire_bytes(signature, CR_SIGN_LEN);
	out->asked_ms = now_ms;
	return rc;
}

static size_t bits(const struct rd_plan *plan)
{
	return rd_plan_is_adaptive(plan) ? 1 : plan->entries;
}

static void read_client(
	const struct rd_plan *plan, const Tombola__V1__RehearsedCertificate *m, struct an_party *out)
{
	*out = (struct an_party){ .state = m->state,
		.devices = m->devices,
		.listed = m->listed < PR_ROUND_REPORTS_MAX ? m->listed : PR_ROUND_REPORTS_MAX,
		.unfinished = m->unfinished };
	cm_text_copy(out->name, sizeof out->name, m->name);
	rd_taken_read(&m->taken, bits(plan), &out->taken);
	rd_faults_read(m->faults, m->n_faults, &out->faults);
}

/* What max_share and the numbers of the certificates leave out, where clients are named. */
static void add_losses(const struct an_rehearsal *r, size_t i, struct an_would *w)
{
	uint64_t most = rd_share_of(r->max_share, r->plan->entry[i].target);

	most = most > 1 ? most : 1;
	for (size_t k = 0; k < r->clients; k++) {
		const struct an_party *c = &r->client[k];
		uint64_t has = c->listed < c->devices ? c->listed : c->devices;

		w->over_certificate += c->listed - has;
		w->over_share += has > most ? has - most : 0;
	}
}

static void judge_entry(const struct an_rehearsal *r, const Tombola__V1__RehearsedEntry *m, size_t i)
{
	struct an_would *w = &r->entry[i];
	uint64_t least = r->plan->entry[i].min_reports;

	*w = (struct an_would){ .listed = m->listed,
		.participants = m->participants,
		.at_most = m->at_most,
		.taken = rd_pin_has(&r->shuffler.taken, i) };
	w->reach = w->participants >= least ? AN_REACHED : w->at_most >= least ? AN_MAYBE : AN_MISSED;
	add_losses(r, i, w);
}

enum cm_rc an_rehearse_read(const struct rd_plan *plan, const Tombola__V1__Rehearsed *answer,
	struct an_rehearsal *out, struct cm_err *err)
{
	*out = (struct an_rehearsal){ .plan = plan };
	if (answer->draft_hash.len != PR_HASH_LEN ||
		memcmp(answer->draft_hash.data, plan->hash, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EPROTO, "the shuffler rehearsed another plan");
	if (answer->n_entries != plan->entries)
		return cm_fail(err, CM_EPROTO, "the shuffler rehearsed %zu entries of %zu", answer->n_entries,
			plan->entries);
	if (!(answer->max_share > 0 && answer->max_share <= 1))
		return cm_fail(err, CM_EPROTO, "the shuffler states a max_share of %g", answer->max_share);
	out->client = calloc(answer->n_certificates + 1, sizeof *out->client);
	out->entry = calloc(plan->entries + 1, sizeof *out->entry);
	if (!out->client || !out->entry)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	out->shuffler.unfinished = answer->unfinished;
	rd_taken_read(&answer->taken, bits(plan), &out->shuffler.taken);
	rd_faults_read(answer->faults, answer->n_faults, &out->shuffler.faults);
	out->max_share = answer->max_share;
	out->answered = answer->answered;
	out->declined = answer->declined;
	out->silent = answer->silent;
	out->unasked = answer->unasked;
	out->clients = answer->n_certificates;
	for (size_t i = 0; i < out->clients; i++) {
		read_client(plan, answer->certificates[i], &out->client[i]);
		out->listed += out->client[i].listed;
	}
	for (size_t i = 0; i < plan->entries; i++)
		judge_entry(out, answer->entries[i], i);
	return CM_OK;
}

void an_rehearse_fini(struct an_rehearsal *r)
{
	free(r->client);
	free(r->entry);
	*r = (struct an_rehearsal){ .plan = NULL };
}

bool an_party_takes(const struct an_rehearsal *r, const struct an_party *p, size_t i)
{
	return rd_pin_has(&p->taken, rd_plan_is_adaptive(r->plan) ? 0 : i);
}

size_t an_rehearse_faults(const struct an_rehearsal *r)
{
	size_t n = r->answered == 0;

	for (size_t i = 0; i < r->plan->entries; i++)
		n += !r->entry[i].taken || r->entry[i].reach == AN_MISSED;
	if (rd_plan_is_adaptive(r->plan))
		n += !rd_pin_has(&r->shuffler.taken, 0);
	else
		n += r->plan->entries == 0;
	for (size_t i = 0; i < r->clients; i++)
		n += r->client[i].faults.n > 0;
	return n > 0 ? n : r->shuffler.faults.n > 0;
}
