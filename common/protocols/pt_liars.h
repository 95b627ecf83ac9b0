/* pt_liars.h - what dishonest devices can have done to an answer.
 *
 * A liar is a device that does not keep to its round: it may send any messages that its round accepts or none
 * that it does, after it has seen everybody's.  The shuffler still lets it send no more messages than others
 * do.  If at most m of n devices lied, the functions here say what the answer of n - m honest ones is:
 * intervals that hold it whatever the liars sent (es_honest.h).  If fewer lied they hold the answer of all
 * who are honest.  What liars can do is a function of the row, and so these functions are a column of its
 * table (`influence` of struct pt_protocol).
 *
 * All of this is computed from the opened messages' counts, which the analyzer has.  It costs no privacy.
 * doc/liars.md: how far one liar reaches in each row, with proofs. */
#pragma once

#include "pt_protocol.h"

/* The devices of a round.  devices: all that took part, by the shuffler's manifest, 1..PR_ROUND_REPORTS_MAX;
 * liars: how many of them may have lied, below `devices`. */
struct pt_crowd {
	uint64_t devices, liars;
};

/* The least number of devices that certainly lied, in a round with these counts and `bad` messages that no
 * client of it sends.  Honest devices fill the slots of a round exactly, so a wrong total tells of liars:
 * each adds at most its messages to a slot that has too many, and takes at most its share from one that has
 * too few.  0 in most rounds with liars: whoever lies about a reading alone is not seen. */
uint64_t pt_liars_seen(const struct pt_randomizer *p, const uint64_t *counts, uint64_t devices, uint64_t bad);

/* Set one struct es_honest for each item of pt_answer, in its order.  With no liars: what pt_answer says.
 * CM_EDATA: fewer liars are assumed than are certainly seen in the counts, or all devices are liars; or what
 * pt_answer would refuse.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc pt_honest(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_crowd *crowd, struct es_honest *out, size_t items, struct cm_err *err);

/* Set for each item of pt_answer the most liars under which its claim stands: that the honest devices' joint
 * interval lies above `above`.  The number is at least that of the liars who are certainly seen; PT_NO_CLAIM:
 * the claim does not stand even with no more than these.  Since the intervals of more liars contain those of
 * fewer, the claim stands for any smaller number.  Where there are more than PT_HOLDS_EXACT items, a number
 * may be too small by a 64th, so that few numbers of liars are tried.  Errors are those of pt_honest. */
#define PT_NO_CLAIM    (-1)
#define PT_HOLDS_EXACT 64u
CM_CHECK enum cm_rc pt_holds_to(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, const struct pt_crowd *crowd, double above, int64_t *out, size_t items,
	struct cm_err *err);
