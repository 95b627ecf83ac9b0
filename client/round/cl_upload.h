/* cl_upload.h - uploads a round's stored reports over several connections: chooses which connection carries
 * each frame, and matches receipts to frames.  No I/O, no clock.
 *
 * The caller adds stored bytes (cl_upload_give), asks for the next frame of a connection, and hands receipts
 * back.  If a connection is lost, its frames are sent again on another, byte for byte.  A receipt carries no
 * frame number: it answers the first unanswered frame of its connection whose bytes its signature covers.  So
 * a shuffler may answer out of order, and a receipt for other bytes answers nothing. */
#pragma once

#include "cl_limits.h"
#include "pr_msg.h"
#include "rd_receipt.h"

struct cl_upload;
struct cl_upload_conf {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t mac[PR_MAC_LEN];            /* the MAC that cl_standing_mac makes for the round */
	uint8_t gateway[PR_HASH_LEN];       /* by cl_standing_gateway */
	struct rd_receipt_shape shape;      /* shape of one device's sealed bytes */
	uint32_t window;                    /* most unanswered frames per connection, 1.. */
	const struct cr_verifier *shuffler; /* the pinned key; borrowed */
};
/* NULL if out of memory. */
struct cl_upload *cl_upload_new(const struct cl_upload_conf *conf);
void cl_upload_free(struct cl_upload *u);

/* How many devices fit one frame, at most `wanted`: 1..PR_SUBMISSIONS_MAX.  device_len: sealed bytes of one
 * device. */
size_t cl_upload_frame_devices(size_t device_len, size_t wanted);

/* Add one frame of n stored devices; copied.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_upload_give(struct cl_upload *u, const int64_t *slot, const uint8_t *pseudonyms,
	const uint8_t *salts, const uint8_t *sealed, size_t n, struct cm_err *err);
/* Number of given frames that are on no connection now. */
size_t cl_upload_waiting(const struct cl_upload *u);
/* Number of given frames that are not answered. */
size_t cl_upload_unanswered(const struct cl_upload *u);

/* Get the next frame for this connection (0..CL_CONNECTIONS_MAX-1), oldest first.  *out points into u until
 * the frame is answered.  CM_EMORE: its window is full, or no frame is waiting. */
CM_CHECK enum cm_rc cl_upload_next(struct cl_upload *u, unsigned connection, Tombola__V1__Submit *out);

/* The result of a receipt: outcome[i] for slot[i].  Valid until the next call with u. */
struct cl_answer {
	const int64_t *slot;
	const uint8_t *outcome;
	size_t n;
};
/* Process a receipt.  CM_EPERM: the pinned key did not sign it over a frame that waits on this connection.
 * CM_EPROTO: wrong round, wrong count or unknown outcome.  On both no frame is answered; close the
 * connection. */
CM_CHECK enum cm_rc cl_upload_receipt(struct cl_upload *u, unsigned connection,
	const Tombola__V1__Receipt *receipt, struct cl_answer *out, struct cm_err *err);
/* Get the opening of one message of one device in the frame answered last; valid until the next call with
 * u.  device < n of that answer, message < shape.messages. */
void cl_upload_opening(struct cl_upload *u, size_t device, uint32_t message, struct rd_opening *out);
/* The connection ended: its unanswered frames wait for another connection. */
void cl_upload_lost(struct cl_upload *u, unsigned connection);
