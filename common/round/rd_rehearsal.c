/* rd_rehearsal.c - a plan as a question, and why its entries would not be answered. */
#include "rd_rehearsal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "cm_round.h"
#include "cm_text.h"
#include "rd_wire.h"

/* The bytes that are signed: the time, u64 big-endian, and the draft. */
static enum cm_rc question(struct cr_span draft, int64_t asked_ms, struct cm_buf *out, struct cm_err *err)
{
	uint8_t time[8];

	for (int i = 0; i < 8; i++)
		time[i] = (uint8_t)((uint64_t)asked_ms >> (56 - 8 * i));
	cm_buf_init(out, sizeof time + PR_PLAN_MAX);
	if (cm_buf_put(out, time, sizeof time) == CM_OK && cm_buf_put(out, draft.data, draft.len) == CM_OK)
		return CM_OK;
	cm_buf_fini(out);
	return cm_fail(err, CM_EINTERNAL, "out of memory for a draft of %zu bytes", draft.len);
}

enum cm_rc rd_rehearsal_sign(const struct cr_signer *signer, struct cr_span draft, int64_t asked_ms,
	uint8_t signature[CR_SIGN_LEN], struct cm_err *err)
{
	struct cm_buf bytes;
	enum cm_rc rc = question(draft, asked_ms, &bytes, err);

	if (rc != CM_OK)
		return rc;
	rc = cr_sign(signer, RD_PURPOSE_REHEARSAL, bytes.data, bytes.len, signature, err);
	cm_buf_fini(&bytes);
	return rc;
}

static enum cm_rc check_signature(
	const Tombola__V1__Rehearse *q, const struct cr_verifier *analyzer, struct cm_err *err)
{
	struct cm_buf bytes;
	enum cm_rc rc;

	if (!CM_CHECKED("round.rehearsal.signature"))
		return CM_OK;
	if (q->signature.len != CR_SIGN_LEN)
		return cm_fail(err, CM_EPERM, "no signature");
	rc = question((struct cr_span){ q->draft.data, q->draft.len }, q->asked_ms, &bytes, err);
	if (rc != CM_OK)
		return rc;
	rc = cr_verify(analyzer, RD_PURPOSE_REHEARSAL, bytes.data, bytes.len, q->signature.data, err);
	cm_buf_fini(&bytes);
	return rc;
}

enum cm_rc rd_rehearsal_verify(const Tombola__V1__Rehearse *q, const struct cr_verifier *analyzer,
	const char *population, int64_t now_ms, struct rd_plan *out, struct cm_err *err)
{
	enum cm_rc rc = check_signature(q, analyzer, err);

	*out = (struct rd_plan){ .entry = NULL };
	/* A copy of an old question asks nobody: what a party would do is told to whoever asks now. */
	if (rc == CM_OK && CM_CHECKED("round.rehearsal.time") &&
		(q->asked_ms < now_ms - RD_REHEARSAL_AGE_MS || q->asked_ms > now_ms + RD_REHEARSAL_AGE_MS))
		rc = cm_fail(err, CM_EPERM,
			"it was asked at another time: its clock is %" PRId64 " s from ours",
			q->asked_ms / 1000 - now_ms / 1000);
	if (rc == CM_OK)
		rc = rd_plan_decode(q->draft.data, q->draft.len, out, err);
	if (rc == CM_OK && strcmp(out->population, population) != 0)
		rc = cm_fail(err, CM_EPERM, "it is of population '%.60s', not '%.60s'", out->population,
			population);
	return rc == CM_OK ? CM_OK : cm_context(err, "rehearsal");
}

void rd_faults_add(struct rd_faults *faults, uint32_t entry, const char *text)
{
	char clean[PR_TEXT_MAX + 1];

	if (!faults)
		return;
	cm_text_copy(clean, sizeof clean, text);
	for (size_t i = 0; i < faults->n; i++)
		if (strcmp(faults->fault[i].text, clean) == 0) {
			faults->fault[i].entries++;
			return;
		}
	if (faults->n == PR_FAULTS_MAX)
		return;
	struct rd_fault *f = &faults->fault[faults->n++];
	*f = (struct rd_fault){ .entry = entry, .entries = 1 };
	memcpy(f->text, clean, sizeof f->text);
}

void rd_faults_add_slice(struct rd_faults *faults, uint32_t entry, const char *whose,
	const struct rd_plan *plan, double honest_fraction, uint64_t colluders, bool distrusts)
{
	char fraction[80] = "", places[80] = "", text[2 * PR_TEXT_MAX];

	if (honest_fraction < plan->honest_fraction)
		(void)snprintf(fraction, sizeof fraction, "; honest_fraction is %g, the plan's %g",
			honest_fraction, plan->honest_fraction);
	if (colluders > plan->colluders)
		(void)snprintf(places, sizeof places, "; colluders is %" PRIu64 ", the plan's %" PRIu64,
			colluders, plan->colluders);
	(void)snprintf(text, sizeof text,
		"budget: by the %s's count it does not fit the slice of epsilon %.4g at delta %.3g%s%s%s",
		whose, cm_digits_up(plan->epsilon, 4), cm_digits_up(plan->delta, 3), fraction, places,
		distrusts ? "; accept_shuffler_dummies is false" : "");
	rd_faults_add(faults, entry, text);
}

void rd_faults_add_clock(struct rd_faults *faults, const char *whose, int64_t off_ms)
{
	char text[PR_TEXT_MAX + 1];

	if (off_ms >= -RD_CLOCK_SLACK_MS && off_ms <= RD_CLOCK_SLACK_MS)
		return;
	(void)snprintf(text, sizeof text,
		"the %s's clock is %lld s %s the analyzer's, and rounds would be missed: set both clocks (NTP)",
		whose, llabs((long long)off_ms) / 1000, off_ms < 0 ? "behind" : "ahead of");
	rd_faults_add(faults, 0, text);
}

void rd_faults_wire(const struct rd_faults *faults, struct rd_faults_wire *w)
{
	for (size_t i = 0; i < faults->n; i++) {
		const struct rd_fault *f = &faults->fault[i];

		tombola__v1__rehearsal_fault__init(&w->m[i]);
		w->m[i].entry = f->entry;
		w->m[i].entries = f->entries;
		w->m[i].place = rd_wire_text(f->place);
		w->m[i].text = rd_wire_text(f->text);
		w->at[i] = &w->m[i];
	}
}

void rd_faults_read(Tombola__V1__RehearsalFault *const *m, size_t n, struct rd_faults *out)
{
	out->n = n < PR_FAULTS_MAX ? n : PR_FAULTS_MAX;
	for (size_t i = 0; i < out->n; i++) {
		struct rd_fault *f = &out->fault[i];

		*f = (struct rd_fault){ .entry = m[i]->entry, .entries = m[i]->entries };
		cm_text_copy(f->place, sizeof f->place, m[i]->place);
		cm_text_copy(f->text, sizeof f->text, m[i]->text);
	}
}

void rd_taken_read(const ProtobufCBinaryData *taken, size_t entries, struct rd_pin *out)
{
	*out = (struct rd_pin){ .entries = entries };
	for (size_t i = 0; i < entries && i / 8 < taken->len; i++)
		out->taken[i / 8] = (uint8_t)(out->taken[i / 8] | (taken->data[i / 8] & 1U << (i % 8)));
}

size_t rd_taken_len(const struct rd_pin *pin)
{
	size_t len = (pin->entries + 7) / 8;

	while (len > 0 && pin->taken[len - 1] == 0)
		len--;
	return len;
}
