/* cl_round.h - executes one round on the loop: encodes on the thread pool, stores, uploads, erases.  Uses
 * libuv.
 *
 * The time of sending does not depend on readings.  No connection is opened and no byte is sent before
 * every device is sealed.  Sending then starts at one of the moments prepare_from + k * step, k = 1, 2,
 * ..., which are fixed before the readings are read: at the first of them by which all is sealed.  The step
 * is the configured `prepare`, or a tenth of the round's time if that is less.  Only k remains visible: how
 * many steps this machine took to read and seal. */
#pragma once

#include "cl_links.h"
#include "cl_prepare.h"
#include "cl_reports.h"

struct cl_round;
struct cl_round_conf {
	uv_loop_t *loop;
	struct cl_links *links;
	struct cl_db *db;
	const struct cl_setup *setup;
	const struct cr_key *secret;        /* the secret in gateway.key */
	const uint8_t *key_hash;            /* of the certificate's key, PR_HASH_LEN bytes */
	const struct cl_prepared *prepared; /* borrowed until on_over, like the other pointers */
	const uint8_t *descriptor, *signature;
	size_t descriptor_len;
	int64_t prepare_from; /* wall time just before the readings are read; used with a batch only */
	bool progress;
	/* a loss of the ledger is undecided (cl_standing.h), or what is stored was charged under another key:
	 * nothing is sent, and stored reports are erased */
	bool stopped;
	unsigned bad_receipts; /* how many bad receipts in a row end the round, 1.. */
	/* Called once for every time that sealed reports were stored durably, when sending begins or at the
	 * round's end.  seconds: how long storing took. */
	void (*on_stored)(void *user, double seconds);
	/* Called at the same time, in a round with a batch.  seconds: how long after prepare_from all was
	 * sealed. */
	void (*on_sealed)(void *user, double seconds);
	/* Called once, at the end; the round is freed when the call returns.  CM_OK: every device has its
	 * outcome, or the shuffler says that the round is closed or that it holds other bytes of a device,
	 * and the sealed bytes are erased.  With other codes they are kept for another try: CM_ELATER after
	 * cl_round_stop, or if the deadline has passed by our clock and the shuffler has not answered;
	 * CM_EPERM or CM_EPROTO: the shuffler misbehaves; CM_EIO and CM_EINTERNAL: a fault of this
	 * client. */
	void (*on_over)(void *user, const struct cl_counts *counts, const struct cm_err *why);
	void *user;
};
/* CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_round_new(const struct cl_round_conf *conf, struct cl_round **out, struct cm_err *err);
void cl_round_up(struct cl_round *r, unsigned i);
void cl_round_down(struct cl_round *r, unsigned i);
void cl_round_frame(struct cl_round *r, unsigned i, const Tombola__V1__Frame *frame);
/* Whether sending has begun.  Until then nothing outside shows how far this client is. */
bool cl_round_sends(const struct cl_round *r);
void cl_round_stop(struct cl_round *r);
