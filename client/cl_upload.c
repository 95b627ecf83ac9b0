/* cl_upload.c - frames of stored submissions: waiting, on a connection, answered. */
#include "cl_upload.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "rd_manifest.h"

#define WAITING CL_CONNECTIONS_MAX

struct frame {
	struct frame *next;
	unsigned connection; /* or WAITING */
	size_t n;
	int64_t *slot;
	uint8_t *pseudonyms, *sealed;
};

struct cl_upload {
	struct cl_upload_conf conf;
	struct frame *first, **last; /* unanswered, in the order given */
	size_t frames, waiting;
	size_t on[CL_CONNECTIONS_MAX];
	struct frame *answered; /* behind the last cl_answer */
	uint8_t outcome[PR_SUBMISSIONS_MAX];
};

struct cl_upload *cl_upload_new(const struct cl_upload_conf *conf)
{
	struct cl_upload *u = calloc(1, sizeof *u);

	if (u == NULL)
		return NULL;
	u->conf = *conf;
	u->last = &u->first;
	return u;
}

static void frame_free(struct frame *f)
{
	if (f == NULL)
		return;
	free(f->slot);
	free(f->pseudonyms);
	free(f->sealed);
	free(f);
}

void cl_upload_free(struct cl_upload *u)
{
	if (u == NULL)
		return;
	while (u->first != NULL) {
		struct frame *f = u->first;

		u->first = f->next;
		frame_free(f);
	}
	frame_free(u->answered);
	free(u);
}

size_t cl_upload_frame_devices(size_t device_len, size_t wanted)
{
	/* 64 bytes are more than the tags, lengths and round id of a Submit. */
	size_t fit = (PR_FRAME_MAX - 64u) / (device_len + PR_PSEUDONYM_LEN);

	if (wanted > PR_SUBMISSIONS_MAX)
		wanted = PR_SUBMISSIONS_MAX;
	if (wanted > fit)
		wanted = fit;
	return wanted > 0 ? wanted : 1;
}

enum cm_rc cl_upload_give(struct cl_upload *u, const int64_t *slot, const uint8_t *pseudonyms,
	const uint8_t *sealed, size_t n, struct cm_err *err)
{
	struct frame *f = calloc(1, sizeof *f);

	if (f != NULL && n > 0 && n <= PR_SUBMISSIONS_MAX) {
		f->slot = malloc(n * sizeof *slot);
		f->pseudonyms = malloc(n * PR_PSEUDONYM_LEN);
		f->sealed = malloc(n * u->conf.device_len);
	}
	if (f == NULL || f->slot == NULL || f->pseudonyms == NULL || f->sealed == NULL) {
		frame_free(f);
		return cm_fail(err, CM_EINTERNAL, "no memory for a frame of %zu devices", n);
	}
	f->connection = WAITING;
	f->n = n;
	memcpy(f->slot, slot, n * sizeof *slot);
	memcpy(f->pseudonyms, pseudonyms, n * PR_PSEUDONYM_LEN);
	memcpy(f->sealed, sealed, n * u->conf.device_len);
	*u->last = f;
	u->last = &f->next;
	u->frames++;
	u->waiting++;
	return CM_OK;
}

size_t cl_upload_waiting(const struct cl_upload *u)
{
	return u->waiting;
}

size_t cl_upload_unanswered(const struct cl_upload *u)
{
	return u->frames;
}

enum cm_rc cl_upload_next(struct cl_upload *u, unsigned connection, Tombola__V1__Submit *out)
{
	struct frame *f = u->first;

	if (u->on[connection] >= u->conf.window)
		return CM_EMORE;
	while (f != NULL && f->connection != WAITING)
		f = f->next;
	if (f == NULL)
		return CM_EMORE;
	f->connection = connection;
	u->on[connection]++;
	u->waiting--;
	tombola__v1__submit__init(out);
	out->round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, u->conf.round_id };
	out->pseudonyms = (ProtobufCBinaryData){ f->n * PR_PSEUDONYM_LEN, f->pseudonyms };
	out->sealed = (ProtobufCBinaryData){ f->n * u->conf.device_len, f->sealed };
	return CM_OK;
}

static bool covers(const struct cl_upload *u, const Tombola__V1__Receipt *r, const struct frame *f)
{
	struct cm_buf bytes;
	struct cm_err unused;
	bool good;

	if (r->outcomes.len != f->n)
		return false;
	if (!CM_CHECKED("client.receipt"))
		return true;
	if (r->signature.len != CM_SIGN_LEN)
		return false;
	cm_buf_init(&bytes, PR_FRAME_MAX);
	good = rd_receipt_bytes(u->conf.round_id, f->pseudonyms, f->n * PR_PSEUDONYM_LEN, f->sealed,
		       f->n * u->conf.device_len, r->outcomes.data, r->outcomes.len, &bytes) == CM_OK &&
	       cm_verify(u->conf.shuffler, RD_PURPOSE_RECEIPT, bytes.data, bytes.len, r->signature.data,
		       &unused) == CM_OK;
	cm_buf_fini(&bytes);
	return good;
}

static enum cm_rc check_form(const struct cl_upload *u, const Tombola__V1__Receipt *r, struct cm_err *err)
{
	if (r->round_id.len != PR_ROUND_ID_LEN ||
		memcmp(r->round_id.data, u->conf.round_id, PR_ROUND_ID_LEN) != 0)
		return cm_fail(err, CM_EPROTO, "receipt: for another round");
	if (r->outcomes.len == 0 || r->outcomes.len > PR_SUBMISSIONS_MAX)
		return cm_fail(err, CM_EPROTO, "receipt: %zu outcomes", r->outcomes.len);
	for (size_t i = 0; i < r->outcomes.len; i++)
		if (r->outcomes.data[i] < TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED ||
			r->outcomes.data[i] > TOMBOLA__V1__OUTCOME__OUTCOME_OVER_LIMIT)
			return cm_fail(err, CM_EPROTO, "receipt: unknown outcome %u", r->outcomes.data[i]);
	return CM_OK;
}

/* Where the frame hangs that a receipt answers.  CM_EPROTO, CM_EPERM: nowhere. */
static enum cm_rc find_answered(struct cl_upload *u, unsigned connection, const Tombola__V1__Receipt *receipt,
	struct frame ***out, struct cm_err *err)
{
	bool right_count = false;

	for (struct frame **at = &u->first, *f; (f = *at) != NULL; at = &f->next) {
		if (f->connection != connection)
			continue;
		right_count = right_count || f->n == receipt->outcomes.len;
		if (covers(u, receipt, f)) {
			*out = at;
			return CM_OK;
		}
	}
	if (!right_count)
		return cm_fail(err, CM_EPROTO,
			"receipt: %zu outcomes, no frame that waits has so many devices",
			receipt->outcomes.len);
	return cm_fail(err, CM_EPERM, "receipt: not signed by the shuffler over what was sent");
}

enum cm_rc cl_upload_receipt(struct cl_upload *u, unsigned connection, const Tombola__V1__Receipt *receipt,
	struct cl_answer *out, struct cm_err *err)
{
	struct frame **at = &u->first, *f;
	enum cm_rc rc = check_form(u, receipt, err);

	if (rc == CM_OK)
		rc = find_answered(u, connection, receipt, &at, err);
	if (rc != CM_OK)
		return rc;
	f = *at;
	*at = f->next;
	if (u->last == &f->next)
		u->last = at;
	u->frames--;
	u->on[connection]--;
	frame_free(u->answered);
	u->answered = f;
	memcpy(u->outcome, receipt->outcomes.data, f->n);
	*out = (struct cl_answer){ .slot = f->slot, .outcome = u->outcome, .n = f->n };
	return CM_OK;
}

void cl_upload_lost(struct cl_upload *u, unsigned connection)
{
	for (struct frame *f = u->first; f != NULL; f = f->next)
		if (f->connection == connection) {
			f->connection = WAITING;
			u->waiting++;
		}
	u->on[connection] = 0;
}

int64_t cl_spread_next(int64_t now_ms, int64_t end_ms, uint64_t k, const struct cm_rng *rng)
{
	/* 53 random bits and a half: strictly inside (0, 1). */
	double u = ((double)(cm_rng_u64(rng) >> 11) + 0.5) * 0x1p-53;

	if (end_ms <= now_ms || k == 0)
		return now_ms;
	/* P(min of k > t) = (1 - t)^k. */
	return now_ms + (int64_t)((double)(end_ms - now_ms) * -expm1(log(u) / (double)k));
}
