/* cl_sealer.h - randomizes and seals devices of a round on the thread pool, part by part (cl_encode.h). */
#pragma once

#include <uv.h>

#include "cl_batch.h"
#include "cl_encode.h"
#include "rd_receipt.h"

#define CL_SEALER_PARTS 4u /* most parts that are useful on the thread pool at a time */

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
	size_t entries;
	const struct cl_payload_bytes *payload; /* the bytes that the round's map reads; borrowed */
	struct cr_hpke_sealer *sealer;          /* used by all parts; NULL until the first part is given */
	/* Called on the loop when a part has ended. */
	void (*on_sealed)(void *user, const struct cl_sealed *s);
	void *user;
};
/* Call when no part is on the thread pool. */
void cl_sealer_fini(struct cl_sealer *s);
/* How many devices of a round make a part of useful length. */
size_t cl_sealer_part(const struct rd_descriptor *d);
/* Give devices first..first+n-1 to the thread pool; on_sealed is called later.  After a fault it is not:
 * CM_EDATA: the round's key is unusable; CM_EINTERNAL: no memory, or the pool accepts no work. */
CM_CHECK enum cm_rc cl_sealer_give(struct cl_sealer *s, size_t first, size_t n, struct cm_err *err);
