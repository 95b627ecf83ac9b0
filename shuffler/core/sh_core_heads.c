/* sh_core_heads.c - what clients state of the ledger: after a loss, and against a ledger that went back. */
#include <string.h>

#include "cm_fault.h"
#include "sh_core_private.h"

void sh_core_heads_fini(struct sh_core *c)
{
	sh_heads_fini(&c->heads);
}

/* ---- Which of them the witnessed ledger lacks ---- */

/* One that contradicts the ledger counts before those that are longer than it, of which the longest
 * counts. */
static void consider(struct sh_core *c, const struct sh_head_row *head)
{
	enum sh_head_place place = sh_witness_place(c->witness, head);

	if (place == SH_HEAD_HERE || c->lacks == SH_HEAD_FORK)
		return;
	if (place == SH_HEAD_FORK || c->lacks == SH_HEAD_HERE || head->seq > c->lacking.seq) {
		c->lacks = place;
		c->lacking = *head;
	}
}

void sh_core_heads_judge(struct sh_core *c)
{
	c->lacks = SH_HEAD_HERE;
	for (size_t i = 0; i < c->heads.n; i++)
		consider(c, &c->heads.row[i]);
	sh_witness_demand(c->witness, c->lacks == SH_HEAD_BEYOND ? &c->lacking : NULL);
}

/* ---- After a loss ---- */

/* Certificates of more devices than collude: one of them at least is honest, and stated the newest that it
 * has seen. */
static bool enough(const struct sh_core *c)
{
	uint64_t colluders = (uint64_t)c->conf.policy->colluders;

	return c->heads.n > 0 && (!CM_CHECKED("shuffler.loss.devices") || c->heads.devices > colluders);
}

/* What the lost state can have pinned is closed; the ledger has to lead to the longest head. */
static enum cm_rc decide(struct sh_core *c, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	uint64_t longest = sh_heads_longest(&c->heads)->seq;
	struct sh_loss loss = { .closed_to = c->loss.closed_to > longest ? c->loss.closed_to : longest };
	enum cm_rc rc = store->loss_put(store->ctx, &loss, err);

	if (rc != CM_OK)
		return rc;
	c->loss = loss;
	sh_plans_close_to(c->plans, loss.closed_to);
	sh_core_heads_judge(c);
	return CM_OK;
}

static enum cm_rc start_head(void *user, const struct sh_head_row *head, struct cm_err *err)
{
	struct sh_core *c = user;

	return sh_heads_put(&c->heads, head, err);
}

enum cm_rc sh_core_heads_start(struct sh_core *c, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	enum cm_rc rc = store->head_each(store->ctx, start_head, c, err);

	if (rc == CM_OK && c->loss.waits && sh_core_witness(c).seq > 0)
		rc = cm_fail(err, CM_EDATA, "state.db: a state that waits for clients has a ledger already");
	if (rc != CM_OK)
		return rc;
	sh_core_heads_judge(c);
	return c->loss.waits && enough(c) ? decide(c, err) : CM_OK;
}

/* ---- Stating ---- */

/* CM_OK: *head and *sequence are what the descriptor says.  CM_EPROTO: nothing that would bind anybody. */
static enum cm_rc read_head(const struct sh_core *c, struct cr_span descriptor, struct sh_head_row *head,
	uint64_t *sequence, struct cm_err *err)
{
	struct rd_descriptor d;
	enum cm_rc rc = rd_descriptor_decode(descriptor.data, descriptor.len, &d, err);

	if (rc != CM_OK)
		return rc == CM_EINTERNAL ? rc : CM_EPROTO;
	if (strcmp(d.population, c->conf.policy->population) != 0 || d.ledger_seq >= INT64_MAX)
		rc = CM_EPROTO;
	*sequence = d.sequence;
	head->seq = d.ledger_seq + 1;
	memcpy(head->before, d.ledger_head, PR_HASH_LEN);
	memcpy(head->descriptor_hash, d.hash, PR_HASH_LEN);
	rd_descriptor_fini(&d);
	return rc;
}

static enum cm_rc verify(
	const struct sh_core *c, struct cr_span descriptor, struct cr_span signature, struct cm_err *err)
{
	if (!CM_CHECKED("shuffler.head.signature"))
		return CM_OK;
	if (signature.len != CR_SIGN_LEN)
		return CM_EPROTO;
	enum cm_rc rc = cr_verify(c->conf.analyzer, RD_PURPOSE_DESCRIPTOR, descriptor.data, descriptor.len,
		signature.data, err);
	return rc == CM_OK || rc == CM_EINTERNAL ? rc : CM_EPROTO;
}

/* Whether a kept head is that of a record after this one. */
static bool reaches(const struct sh_core *c, uint64_t after)
{
	const struct sh_head_row *longest = sh_heads_longest(&c->heads);

	return longest && longest->seq > after;
}

/* Whether nothing new follows from a head.  So it is with every client of a state that has only grown: the
 * ledger has the record, and the round was served here.  A descriptor newer than all that were served here
 * was served by a state that is lost, and of these the longest says all (sh_core_heads_reach).  On a fork
 * nothing is announced, and what shows it stays. */
static bool is_known(const struct sh_core *c, const struct sh_head_row *head, uint64_t sequence)
{
	return !c->loss.waits && sh_witness_place(c->witness, head) == SH_HEAD_HERE &&
	       (sequence <= c->last_sequence || reaches(c, head->seq - 1) || c->lacks == SH_HEAD_FORK);
}

/* Which of a certificate's heads stays: one that contradicts the ledger, else the longer one. */
static bool is_kept(const struct sh_core *c, const struct sh_head_row *known, const struct sh_head_row *head)
{
	bool forks = sh_witness_place(c->witness, head) == SH_HEAD_FORK,
	     forked = sh_witness_place(c->witness, known) == SH_HEAD_FORK;

	return forks == forked ? known->seq >= head->seq : forked;
}

/* Durable before it counts. */
static enum cm_rc keep(
	struct sh_core *c, const struct sh_head_row *head, enum sh_stated *what, struct cm_err *err)
{
	const struct sh_head_row *known = sh_heads_find(&c->heads, head->name);
	const struct sh_store *store = c->conf.env.store;

	bool kept = known && is_kept(c, known, head);
	if (kept && known->devices == head->devices)
		return CM_OK;
	struct sh_head_row row = *head;
	if (kept) {
		row = *known;
		row.devices = head->devices;
	}
	enum cm_rc rc = store->head_put(store->ctx, &row, err);
	if (rc == CM_OK)
		rc = sh_heads_put(&c->heads, &row, err);
	if (rc != CM_OK)
		return rc;
	sh_core_heads_judge(c);
	if (!c->loss.waits) {
		if (sh_witness_place(c->witness, head) != SH_HEAD_HERE)
			*what = SH_STATED_LACKING;
		return CM_OK;
	}
	*what = enough(c) ? SH_STATED_ENOUGH : SH_STATED_COUNTED;
	return *what == SH_STATED_ENOUGH ? decide(c, err) : CM_OK;
}

enum cm_rc sh_core_state_head(struct sh_core *c, const struct cr_identity *who, struct cr_span descriptor,
	struct cr_span signature, enum sh_stated *what, struct cm_err *err)
{
	struct sh_head_row head = { .devices = who->devices };
	uint64_t sequence = 0;

	*what = SH_STATED_NOTHING;
	if (descriptor.len == 0)
		return CM_OK;
	enum cm_rc rc = read_head(c, descriptor, &head, &sequence, err);
	if (rc == CM_OK && is_known(c, &head, sequence))
		return CM_OK;
	if (rc == CM_OK)
		rc = verify(c, descriptor, signature, err);
	if (rc != CM_OK)
		return rc == CM_EPROTO ? CM_OK : rc;
	sh_standing_name(who->key_hash, head.name);
	return keep(c, &head, what, err);
}

/* ---- What follows ---- */

bool sh_core_heads_reach(const struct sh_core *c, const struct rd_descriptor *d)
{
	return reaches(c, d->ledger_seq);
}

enum cm_rc sh_core_check_loss(const struct sh_core *c, struct sh_refusal *no)
{
	if (!c->loss.waits)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS,
		"this shuffler lost its state and waits: clients of %llu devices have stated their ledger, "
		"more than %lld are needed%s",
		(unsigned long long)c->heads.devices, (long long)c->conf.policy->colluders,
		c->conf.env.intakes ? " (through an intake none count)" : "");
}

enum cm_rc sh_core_check_fork(const struct sh_core *c, struct sh_refusal *no)
{
	if (!CM_CHECKED("shuffler.head") || c->lacks != SH_HEAD_FORK)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
		"ledger record %llu is another than a client holds the analyzer's signature on: restored "
		"from an older copy?",
		(unsigned long long)c->lacking.seq);
}

enum cm_rc sh_core_check_heads(const struct sh_core *c, struct sh_refusal *no)
{
	enum cm_rc rc = sh_core_check_loss(c, no);

	if (rc == CM_OK)
		rc = sh_core_check_fork(c, no);
	if (rc != CM_OK || !CM_CHECKED("shuffler.head") || c->lacks == SH_HEAD_HERE)
		return rc;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
		"a client holds the analyzer's signature on ledger record %llu, known here are %llu: "
		"restored from an older copy?",
		(unsigned long long)c->lacking.seq, (unsigned long long)sh_core_witness(c).seq);
}

const struct sh_head_row *sh_core_lacks(const struct sh_core *c)
{
	return c->lacks == SH_HEAD_HERE ? NULL : &c->lacking;
}

struct sh_hearing sh_core_hearing(const struct sh_core *c)
{
	return (struct sh_hearing){ .waits = c->loss.waits,
		.certificates = c->heads.n,
		.devices = c->heads.devices,
		.colluders = (uint64_t)c->conf.policy->colluders,
		.closed_to = c->loss.closed_to,
		.lacking = c->lacks == SH_HEAD_HERE ? 0 : c->lacking.seq };
}
