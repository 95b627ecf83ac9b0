/* cd_upload.h - uploads a round's stored reports over several connections: chooses which connection carries
 * each frame, and matches receipts to frames.  Works in its caller's memory.  No I/O, no clock.
 *
 * The caller loads stored bytes into the memory of a frame (cd_upload_room, cd_upload_give), asks for the
 * next frame of a connection, and hands receipts back.  If a connection is lost, its frames are sent again on
 * another, byte for byte.  A receipt carries no frame number: it answers the first unanswered frame of its
 * connection whose bytes its signature covers.  So a shuffler may answer out of order, and a receipt for
 * other bytes answers nothing. */
#pragma once

#include "pr_msg.h"
#include "rd_receipt.h"

struct cd_upload;
struct cd_upload_conf {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t mac[PR_MAC_LEN];            /* the MAC that cl_standing_mac makes for the round */
	uint8_t gateway[PR_HASH_LEN];       /* by cl_standing_gateway */
	struct rd_receipt_shape shape;      /* shape of one device's sealed bytes */
	uint32_t window;                    /* most unanswered frames per connection, 1.. */
	const struct cr_verifier *shuffler; /* the pinned key; borrowed */
	size_t devices;                     /* most devices of a frame, 1..PR_SUBMISSIONS_MAX */
	size_t frames;                      /* how many frames are held at once, 1.. */
};
/* Bytes of memory that these uploads work in. */
size_t cd_upload_len(const struct cd_upload_conf *conf);
/* Begin in this memory of cd_upload_len bytes, aligned to 8; nothing is to be freed but the memory. */
struct cd_upload *cd_upload_begin(const struct cd_upload_conf *conf, void *memory);

/* How many devices fit one frame, at most `wanted`: 1..PR_SUBMISSIONS_MAX.  device_len: sealed bytes of one
 * device. */
size_t cd_upload_frame_devices(size_t device_len, size_t wanted);

/* Where the devices of a frame are loaded: slot[i], pseudonym and salt at 32 i, sealed at device_len i. */
struct cd_frame_room {
	int64_t *slot;
	uint8_t *pseudonyms, *salts, *sealed;
};
/* Get the memory of a frame that is in no use.  false: all frames wait or are unanswered. */
bool cd_upload_room(struct cd_upload *u, struct cd_frame_room *out);
/* Add the frame whose n devices (1..conf.devices) were loaded where cd_upload_room said last. */
void cd_upload_give(struct cd_upload *u, size_t n);
/* Number of given frames that are on no connection now. */
size_t cd_upload_waiting(const struct cd_upload *u);
/* Number of given frames that are not answered. */
size_t cd_upload_unanswered(const struct cd_upload *u);

/* Get the next frame for this connection, oldest first.  *out points into u until the frame is answered.
 * CM_EMORE: its window is full, or no frame is waiting. */
CM_CHECK enum cm_rc cd_upload_next(struct cd_upload *u, unsigned connection, Tombola__V1__Submit *out);

/* The result of a receipt: outcome[i] for slot[i].  Valid until the next receipt, and until a frame is loaded
 * into the memory that cd_upload_room gives. */
struct cd_answer {
	const int64_t *slot;
	const uint8_t *outcome;
	size_t n;
};
/* Process a receipt.  CM_EPERM: the pinned key did not sign it over a frame that waits on this connection.
 * CM_EPROTO: wrong round, wrong count or unknown outcome.  On both no frame is answered; close the
 * connection. */
CM_CHECK enum cm_rc cd_upload_receipt(struct cd_upload *u, unsigned connection,
	const Tombola__V1__Receipt *receipt, struct cd_answer *out, struct cm_err *err);
/* Get the opening of one message of one device in the frame answered last; valid as long as its cd_answer.
 * device < n of that answer, message < shape.messages. */
void cd_upload_opening(struct cd_upload *u, size_t device, uint32_t message, struct rd_opening *out);
/* The connection ended: its unanswered frames wait for another connection. */
void cd_upload_lost(struct cd_upload *u, unsigned connection);
