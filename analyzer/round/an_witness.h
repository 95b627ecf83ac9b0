/* an_witness.h - checks that a ledger contains what the shuffler and its clients have seen of it.  No I/O. */
#pragma once

#include "an_ledger.h"
#include "pr_msg.h"

/* Check that the shuffler's last known record is a point of our chain; *seen is that point.  CM_EPERM: it
 * is not, so ours is an older copy or another ledger.  CM_EPROTO: the frame is malformed. */
CM_CHECK enum cm_rc an_witness_seen(const struct an_ledger *ours, const Tombola__V1__Witness *w,
	struct rd_chain *seen, struct cm_err *err);
/* Check the same for what a client has stated to the shuffler, if the shuffler asked for that. */
CM_CHECK enum cm_rc an_witness_stated(
	const struct an_ledger *ours, const Tombola__V1__Witness *w, struct cm_err *err);
