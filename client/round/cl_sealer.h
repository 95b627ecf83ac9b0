/* cl_sealer.h - randomizes and seals devices of a round on the thread pool, some at a time (cl_encode.h). */
#pragma once

#include <uv.h>

#include "cl_batch.h"
#include "cl_encode.h"
#include "rd_receipt.h"

/* Devices that are sealed, or could not be (err).  The pointers are valid during the call. */
struct cl_sealed {
	const struct cl_entry *entry;
	size_t n;
	const uint8_t *salts, *sealed; /* RD_SALT_LEN and cd_device_len bytes per device */
	struct cm_err err;             /* CM_OK if they are sealed */
};

struct cl_sealer {
	uv_loop_t *loop;               /* borrowed, like d and entry */
	const struct rd_descriptor *d; /* the round */
	const struct cl_entry *entry;  /* the devices; `entries` says how many */
	/* next: the first device that no job has got; chunk: devices per job */
	size_t entries, next, chunk;
	const struct cl_payload_bytes *payload; /* the bytes that the round's map reads; borrowed */
	struct cr_hpke_sealer *sealer;          /* used by all jobs; NULL until the first job is made */
	unsigned jobs;                          /* jobs on the thread pool */
	/* Called on the loop when a job has ended, after `jobs` was reduced. */
	void (*on_sealed)(void *user, const struct cl_sealed *s);
	void *user;
};
void cl_sealer_init(struct cl_sealer *s, uv_loop_t *loop, const struct rd_descriptor *d,
	const struct cl_entry *entry, size_t entries);
/* Call when no job is on the thread pool. */
void cl_sealer_fini(struct cl_sealer *s);
/* Keep the thread pool busy.  CM_EDATA: the round's key is unusable; CM_EINTERNAL: no memory, or the pool
 * accepts no work. */
CM_CHECK enum cm_rc cl_sealer_go_on(struct cl_sealer *s, struct cm_err *err);
/* Give no more devices to jobs: devices that are not sealed by now can no longer be sent. */
void cl_sealer_cut(struct cl_sealer *s);
/* Whether every device is sealed. */
bool cl_sealer_done(const struct cl_sealer *s);
