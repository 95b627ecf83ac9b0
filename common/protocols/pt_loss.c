/* pt_loss.c - computes a round's loss by the row's cells() or loss(). */
#include "pt_loss.h"

#include <math.h>

#include "pr_limits.h"
#include "pt_protocol.h"

_Static_assert(PT_PARTS_MAX == PR_SLOTS_MAX, "a descriptor's slots are the accountant's rounds");
_Static_assert(PT_SLOTS_MAX == PT_PARTS_MAX, "a kind of slot is a part of the loss");

enum cm_rc pt_loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err)
{
	const struct pt_protocol *row = pt_protocol_of(p->row);
	double own = p->shuffler.tags > 0 ? INFINITY : p->row->epsilon0(p);

	out->pure = isfinite(own) ? own : 0;
	if (row->loss)
		return row->loss(p, participants, out, err);
	out->parts = 1;
	return row->cells(p, participants, &out->part[0], err);
}
