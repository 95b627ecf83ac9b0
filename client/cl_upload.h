/* cl_upload.h - the upload of a round's stored submissions over several connections: which frame goes where,
 * and what a receipt answers.  No I/O, no clock.
 *
 * The caller gives stored bytes (cl_upload_give), asks for the next frame of a connection, and hands receipts
 * back. A frame that lost its connection is sent again on another, byte for byte.  A receipt carries no frame
 * number, so it answers the first unanswered frame of its connection whose bytes its signature covers: a
 * shuffler may answer out of order, and a receipt for other bytes answers nothing. */
#pragma once

#include "cm_sign.h"
#include "pr_msg.h"

#define CL_CONNECTIONS_MAX 8u

struct cl_upload;
struct cl_upload_conf {
	uint8_t round_id[PR_ROUND_ID_LEN];
	size_t device_len;                  /* sealed bytes of one device */
	uint32_t window;                    /* unanswered frames per connection, 1.. */
	const struct cm_verifier *shuffler; /* pinned; borrowed */
};
/* NULL out of memory. */
struct cl_upload *cl_upload_new(const struct cl_upload_conf *conf);
void cl_upload_free(struct cl_upload *u);

/* Devices that fit one frame, at most `wanted`: 1..PR_SUBMISSIONS_MAX. */
size_t cl_upload_frame_devices(size_t device_len, size_t wanted);

/* One frame of n devices as stored; copied.  CM_EINTERNAL out of memory. */
CM_CHECK enum cm_rc cl_upload_give(struct cl_upload *u, const int64_t *slot, const uint8_t *pseudonyms,
	const uint8_t *sealed, size_t n, struct cm_err *err);
/* Frames given and not on any connection now. */
size_t cl_upload_waiting(const struct cl_upload *u);
/* Frames given and not answered. */
size_t cl_upload_unanswered(const struct cl_upload *u);

/* The next frame for this connection (0..CL_CONNECTIONS_MAX-1), oldest first; *out points into u until the
 * frame is answered.  CM_EMORE: its window is full or nothing waits. */
CM_CHECK enum cm_rc cl_upload_next(struct cl_upload *u, unsigned connection, Tombola__V1__Submit *out);

/* What a receipt said: outcome[i] for slot[i].  Valid until the next call with u. */
struct cl_answer {
	const int64_t *slot;
	const uint8_t *outcome;
	size_t n;
};
/* CM_EPERM: not signed by the pinned key over a frame that waits on this connection; CM_EPROTO: wrong round,
 * wrong count or an unknown outcome.  Nothing is answered then; close the connection. */
CM_CHECK enum cm_rc cl_upload_receipt(struct cl_upload *u, unsigned connection,
	const Tombola__V1__Receipt *receipt, struct cl_answer *out, struct cm_err *err);
/* The connection is gone: its unanswered frames wait again. */
void cl_upload_lost(struct cl_upload *u, unsigned connection);

/* Next moment of sending when k of them (k >= 1), this one included, are still to be spread uniformly over
 * [now, end]: the smallest of k uniform draws. */
int64_t cl_spread_next(int64_t now_ms, int64_t end_ms, uint64_t k, const struct cm_rng *rng);
