/* cl_sealer.h - randomizes and seals devices of a round on the thread pool, some at a time (cl_encode.h). */
#pragma once

#include <uv.h>

#include "cl_batch.h"
#include "cl_encode.h"
#include "rd_receipt.h"

/* Devices that are sealed, or could not be (err).  Borrowed during the call. */
struct cl_sealed {
	const struct cl_entry *entry;
	size_t n;
	const uint8_t *salts, *sealed; /* RD_SALT_LEN and cl_device_len bytes per device */
	struct cm_err err;             /* CM_OK: sealed */
};

struct cl_sealer {
	uv_loop_t *loop;                        /* borrowed, like d and entry */
	const struct rd_descriptor *d;          /* of the round */
	const struct cl_entry *entry;           /* the devices, `entries` of them */
	size_t entries, next, chunk;            /* next: the first that no job has */
	const struct cl_payload_bytes *payload; /* what its map reads; borrowed */
	struct cr_hpke_sealer *sealer;          /* which all jobs borrow; NULL: there was none yet */
	unsigned jobs;                          /* on the thread pool */
	/* Called on the loop when a job is back; it is not counted in `jobs` any more. */
	void (*on_sealed)(void *user, const struct cl_sealed *s);
	void *user;
};
void cl_sealer_init(struct cl_sealer *s, uv_loop_t *loop, const struct rd_descriptor *d,
	const struct cl_entry *entry, size_t entries);
/* Once no job is on the thread pool. */
void cl_sealer_fini(struct cl_sealer *s);
/* Keep the thread pool busy.  CM_EDATA: the round's key is unusable; CM_EINTERNAL: no memory, or the pool
 * accepts no work. */
CM_CHECK enum cm_rc cl_sealer_go_on(struct cl_sealer *s, struct cm_err *err);
/* Give no more devices to jobs: what is not sealed by now can no longer be sent. */
void cl_sealer_cut(struct cl_sealer *s);
/* Whether every device is sealed. */
bool cl_sealer_done(const struct cl_sealer *s);
