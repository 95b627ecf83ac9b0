/* sh_heads.c - judges what clients state about the ledger: after a loss, and against a ledger that went
 * back. */
#include "sh_heads.h"

#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "sh_vault.h"

#define RETRY_MS 1000u

/* ---- The heads that are kept ---- */

static struct sh_head_row *find(const struct sh_heads *h, const uint8_t name[PR_HASH_LEN])
{
	for (size_t i = 0; i < h->n; i++)
		if (memcmp(h->row[i].name, name, PR_HASH_LEN) == 0)
			return &h->row[i];
	return NULL;
}

static enum cm_rc put(struct sh_heads *h, const struct sh_head_row *row, struct cm_err *err)
{
	struct sh_head_row *at = find(h, row->name);

	if (!at) {
		void *room = cm_grow(h->row, h->n, &h->cap, sizeof *h->row);
		if (!room)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		h->row = room;
		at = &h->row[h->n++];
	} else {
		h->devices -= at->devices;
	}
	*at = *row;
	h->devices += row->devices; /* cannot overflow: memory holds fewer than 2^32 rows of 32-bit numbers */
	return CM_OK;
}

static const struct sh_head_row *longest_of(const struct sh_heads *h)
{
	const struct sh_head_row *longest = NULL;

	for (size_t i = 0; i < h->n; i++)
		if (!longest || h->row[i].seq > longest->seq)
			longest = &h->row[i];
	return longest;
}

void sh_heads_fini(struct sh_heads *h)
{
	free(h->row);
	h->row = NULL;
	h->n = h->cap = 0;
}

/* ---- Which of them the witnessed ledger lacks ---- */

/* Keep the head if it says more than the one kept so far: one that contradicts the ledger comes first, then
 * the longest. */
static void consider(struct sh_heads *h, const struct sh_head_row *head)
{
	enum sh_head_place place = sh_witness_place(h->witness, head);

	if (place == SH_HEAD_HERE || h->lacks == SH_HEAD_FORK)
		return;
	if (place == SH_HEAD_FORK || h->lacks == SH_HEAD_HERE || head->seq > h->lacking.seq) {
		h->lacks = place;
		h->lacking = *head;
	}
}

void sh_heads_judge(struct sh_heads *h)
{
	h->lacks = SH_HEAD_HERE;
	for (size_t i = 0; i < h->n; i++)
		consider(h, &h->row[i]);
	sh_witness_demand(h->witness, h->lacks == SH_HEAD_BEYOND ? &h->lacking : NULL);
}

/* ---- After a loss ---- */

/* Whether the certificates have more devices than collude.  At least one of them is then honest, and has
 * stated the newest record that it has seen. */
static bool enough(const struct sh_heads *h)
{
	uint64_t colluders = (uint64_t)h->policy->shared.colluders;

	return h->n > 0 && (!CM_CHECKED("shuffler.loss.devices") || h->devices > colluders);
}

/* Close every plan that the lost state can have pinned, and require that the ledger leads to the longest
 * head. */
static enum cm_rc decide(struct sh_heads *h, struct cm_err *err)
{
	const struct sh_store *store = h->store;
	uint64_t longest = longest_of(h)->seq;
	struct sh_loss loss = { .closed_to = h->loss.closed_to > longest ? h->loss.closed_to : longest };
	enum cm_rc rc = store->loss_put(store->ctx, &loss, err);

	if (rc != CM_OK)
		return rc;
	h->loss = loss;
	sh_plans_close_to(h->plans, loss.closed_to);
	sh_heads_judge(h);
	return CM_OK;
}

static enum cm_rc start_head(void *user, const struct sh_head_row *head, struct cm_err *err)
{
	struct sh_heads *h = user;

	return put(h, head, err);
}

enum cm_rc sh_heads_load(struct sh_heads *h, struct cm_err *err)
{
	const struct sh_store *store = h->store;
	enum cm_rc rc = store->head_each(store->ctx, start_head, h, err);

	if (rc == CM_OK && h->loss.waits && sh_witness_head(h->witness).seq > 0)
		rc = cm_fail(err, CM_EDATA, "state.db: a state that waits for clients has a ledger already");
	if (rc != CM_OK)
		return rc;
	sh_heads_judge(h);
	return h->loss.waits && enough(h) ? decide(h, err) : CM_OK;
}

/* ---- Stating ---- */

/* Read head and sequence number from a descriptor.  CM_EPROTO: it holds no statement that binds anybody. */
static enum cm_rc read_head(const struct sh_heads *h, struct cr_span descriptor, struct sh_head_row *head,
	uint64_t *sequence, struct cm_err *err)
{
	struct rd_descriptor d;
	enum cm_rc rc = rd_descriptor_decode(descriptor.data, descriptor.len, &d, err);

	if (rc != CM_OK)
		return rc == CM_EINTERNAL ? rc : CM_EPROTO;
	if (strcmp(d.population, h->policy->shared.population) != 0 || d.ledger_seq >= INT64_MAX)
		rc = CM_EPROTO;
	*sequence = d.sequence;
	head->seq = d.ledger_seq + 1;
	memcpy(head->before, d.ledger_head, PR_HASH_LEN);
	memcpy(head->descriptor_hash, d.hash, PR_HASH_LEN);
	rd_descriptor_fini(&d);
	return rc;
}

static enum cm_rc verify(
	const struct sh_heads *h, struct cr_span descriptor, struct cr_span signature, struct cm_err *err)
{
	if (!CM_CHECKED("shuffler.head.signature"))
		return CM_OK;
	if (signature.len != CR_SIGN_LEN)
		return CM_EPROTO;
	enum cm_rc rc = cr_verify(
		h->analyzer, RD_PURPOSE_DESCRIPTOR, descriptor.data, descriptor.len, signature.data, err);
	return rc == CM_OK || rc == CM_EINTERNAL ? rc : CM_EPROTO;
}

/* Whether the longest kept head comes after this record. */
static bool reaches(const struct sh_heads *h, uint64_t after)
{
	const struct sh_head_row *longest = longest_of(h);

	return longest && longest->seq > after;
}

/* Whether nothing new follows from a head.  That holds for every client if the state has only grown: the
 * ledger has the record, and the round was served here.  A descriptor newer than all that were served here
 * was served by a state that is lost, and the longest of these suffices (sh_heads_reach).  On a fork
 * nothing is announced, and the head that shows the fork is kept. */
static bool is_known(
	const struct sh_heads *h, const struct sh_head_row *head, uint64_t sequence, uint64_t newest)
{
	return !h->loss.waits && sh_witness_place(h->witness, head) == SH_HEAD_HERE &&
	       (sequence <= newest || reaches(h, head->seq - 1) || h->lacks == SH_HEAD_FORK);
}

/* Whether a certificate's known head is kept instead of the new one.  A head that contradicts the ledger is
 * kept before others, then the longer one. */
static bool is_kept(const struct sh_heads *h, const struct sh_head_row *known, const struct sh_head_row *head)
{
	bool forks = sh_witness_place(h->witness, head) == SH_HEAD_FORK,
	     forked = sh_witness_place(h->witness, known) == SH_HEAD_FORK;

	return forks == forked ? known->seq >= head->seq : forked;
}

/* Store the head durably before it counts. */
static enum cm_rc keep(
	struct sh_heads *h, const struct sh_head_row *head, enum sh_stated *what, struct cm_err *err)
{
	const struct sh_head_row *known = find(h, head->name);
	const struct sh_store *store = h->store;

	bool kept = known && is_kept(h, known, head);
	if (kept && known->devices == head->devices)
		return CM_OK;
	struct sh_head_row row = *head;
	if (kept) {
		row = *known;
		row.devices = head->devices;
	}
	enum cm_rc rc = store->head_put(store->ctx, &row, err);
	if (rc == CM_OK)
		rc = put(h, &row, err);
	if (rc != CM_OK)
		return rc;
	sh_heads_judge(h);
	if (!h->loss.waits) {
		if (sh_witness_place(h->witness, head) != SH_HEAD_HERE)
			*what = SH_STATED_LACKING;
		return CM_OK;
	}
	*what = enough(h) ? SH_STATED_ENOUGH : SH_STATED_COUNTED;
	return *what == SH_STATED_ENOUGH ? decide(h, err) : CM_OK;
}

enum cm_rc sh_heads_state(struct sh_heads *h, const struct cr_identity *who, struct cr_span descriptor,
	struct cr_span signature, uint64_t newest, enum sh_stated *what, struct cm_err *err)
{
	struct sh_head_row head = { .devices = who->devices };
	uint64_t sequence = 0;

	*what = SH_STATED_NOTHING;
	if (descriptor.len == 0)
		return CM_OK;
	enum cm_rc rc = read_head(h, descriptor, &head, &sequence, err);
	if (rc == CM_OK && is_known(h, &head, sequence, newest))
		return CM_OK;
	if (rc == CM_OK)
		rc = verify(h, descriptor, signature, err);
	if (rc != CM_OK)
		return rc == CM_EPROTO ? CM_OK : rc;
	sh_standing_name(who->key_hash, head.name);
	return keep(h, &head, what, err);
}

/* ---- What follows ---- */

bool sh_heads_reach(const struct sh_heads *h, const struct rd_descriptor *d)
{
	return reaches(h, d->ledger_seq);
}

enum cm_rc sh_heads_check_loss(const struct sh_heads *h, struct sh_refusal *no)
{
	if (!h->loss.waits)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, RETRY_MS,
		"this shuffler lost its state and waits: clients of %llu devices have stated their ledger, "
		"more than %lld are needed%s",
		(unsigned long long)h->devices, (long long)h->policy->shared.colluders,
		h->intakes ? " (through an intake none count)" : "");
}

enum cm_rc sh_heads_check_fork(const struct sh_heads *h, struct sh_refusal *no)
{
	if (!CM_CHECKED("shuffler.head") || h->lacks != SH_HEAD_FORK)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
		"ledger record %llu is another than a client holds the analyzer's signature on: restored "
		"from an older copy?",
		(unsigned long long)h->lacking.seq);
}

enum cm_rc sh_heads_check(const struct sh_heads *h, struct sh_refusal *no)
{
	enum cm_rc rc = sh_heads_check_loss(h, no);

	if (rc == CM_OK)
		rc = sh_heads_check_fork(h, no);
	if (rc != CM_OK || !CM_CHECKED("shuffler.head") || h->lacks == SH_HEAD_HERE)
		return rc;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
		"a client holds the analyzer's signature on ledger record %llu, known here are %llu: "
		"restored from an older copy?",
		(unsigned long long)h->lacking.seq, (unsigned long long)sh_witness_head(h->witness).seq);
}

const struct sh_head_row *sh_heads_lacking(const struct sh_heads *h)
{
	return h->lacks == SH_HEAD_HERE ? NULL : &h->lacking;
}

struct sh_hearing sh_heads_hearing(const struct sh_heads *h)
{
	return (struct sh_hearing){ .waits = h->loss.waits,
		.certificates = h->n,
		.devices = h->devices,
		.colluders = (uint64_t)h->policy->shared.colluders,
		.closed_to = h->loss.closed_to,
		.lacking = h->lacks == SH_HEAD_HERE ? 0 : h->lacking.seq };
}
