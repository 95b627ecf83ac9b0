/* cl_drive.h - carries out the actions of a round (cd_round.h) on the loop: seals on the thread pool, stores
 * in client.db, sends over the links.  Uses libuv.
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

struct cl_drive;
struct cl_drive_conf {
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
	bool stopped;          /* as in cd_round_conf, like bad_receipts */
	unsigned bad_receipts; /* how many bad receipts in a row end the round, 1.. */
	/* Called once for every time that sealed reports were stored durably, when sending begins or at the
	 * round's end.  seconds: how long storing took. */
	void (*on_stored)(void *user, double seconds);
	/* Called at the same time, in a round with a batch.  seconds: how long after prepare_from all was
	 * sealed. */
	void (*on_sealed)(void *user, double seconds);
	/* Called once, at the end; the drive is freed when the call returns.  why: as in struct cd_action. */
	void (*on_over)(void *user, const struct cl_counts *counts, const struct cm_err *why);
	void *user;
};
/* CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_drive_new(const struct cl_drive_conf *conf, struct cl_drive **out, struct cm_err *err);
void cl_drive_up(struct cl_drive *r, unsigned i);
void cl_drive_down(struct cl_drive *r, unsigned i);
void cl_drive_frame(struct cl_drive *r, unsigned i, const Tombola__V1__Frame *frame);
/* Whether sending has begun.  Until then nothing outside shows how far this client is. */
bool cl_drive_sends(const struct cl_drive *r);
void cl_drive_stop(struct cl_drive *r);
