/* cl_round.h - one round on the loop: encode on the thread pool, persist, upload, erase.  Knows uv. */
#pragma once

#include "cl_links.h"
#include "cl_prepare.h"
#include "cl_store.h"

struct cl_round;
struct cl_round_conf {
	uv_loop_t *loop;
	struct cl_links *links;
	struct cl_db *db;
	const struct cl_setup *setup;
	const struct cl_prepared *prepared; /* all borrowed until on_over */
	const uint8_t *descriptor, *signature;
	size_t descriptor_len;
	bool progress;
	unsigned bad_receipts; /* in a row that end it, 1.. */
	/* Sealed submissions were made durable, which took so long. */
	void (*on_stored)(void *user, double seconds);
	/* Once, last; the round is freed when it returns.  CM_OK: every device has its outcome or the
	 * deadline has passed, and the sealed bytes are erased.  Else they are kept for another try:
	 * CM_ELATER after cl_round_stop, CM_EPERM or CM_EPROTO a shuffler that misbehaves, CM_EIO and
	 * CM_EINTERNAL our own. */
	void (*on_over)(void *user, const struct cl_counts *counts, const struct cm_err *why);
	void *user;
};
/* CM_EINTERNAL out of memory. */
CM_CHECK enum cm_rc cl_round_new(const struct cl_round_conf *conf, struct cl_round **out, struct cm_err *err);
void cl_round_up(struct cl_round *r, unsigned i);
void cl_round_down(struct cl_round *r, unsigned i);
void cl_round_frame(struct cl_round *r, unsigned i, const Tombola__V1__Frame *frame);
void cl_round_stop(struct cl_round *r);
