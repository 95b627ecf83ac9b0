/* pt_mixbins_analysis.h - what a round of pt_mixbins.h costs, and what its counts say. */
#pragma once

#include "es_holders.h"
#include "pt_mixbins.h"
#include "pt_protocol.h"

/* The columns that every row of this randomizer has in common. */
#define PT_MIXBINS_ANALYSIS .tallies = pt_mixbins_bins, .cells = pt_mixbins_cells, .tally = pt_mixbins_tally

/* p->mixbins for epsilon0 (0, 16] or INFINITY.  P <= e^epsilon0 / (e^epsilon0 + k - 1) strictly, so that
 * pt_mixbins_epsilon0(out) <= epsilon0.  CM_ECONFIG names what is out of range; INFINITY needs dummies. */
CM_CHECK enum cm_rc pt_mixbins_derive(const struct pt_protocol *row, uint32_t bins, double epsilon0,
	uint32_t dummies, struct pt_randomizer *out, struct cm_err *err);
/* The same from a plan's request, whose `bins` are given; with dummies of the shuffler, which also make
 * INFINITY possible. */
CM_CHECK enum cm_rc pt_mixbins_request(const struct pt_protocol *row, uint32_t bins,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);

uint32_t pt_mixbins_bins(const struct pt_randomizer *p);
CM_CHECK enum cm_rc pt_mixbins_cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err);
/* Of a round with this dummy_chance, when its cells and dummies are known: a message of each participant that
 * is blanket with that chance, rounded down by more than chance, W and quotient err.
 *
 * NULLs may be seen: the number of NULLs is independent of all values.  Given the number K of the others,
 * they are uniform dummies as if every client had sent more, so the round's hockey-stick divergence is that
 * of one with K more dummies, averaged over K.  Such a message has the law f omega/W on the cells and NULL
 * for the rest: it is one of a level of share f / W, f the chance.  With P = 1 that is the loss exactly
 * (tests/unit/test_rare_loss.c enumerates small rounds). */
void pt_mixbins_rare(uint64_t dummy_chance, uint64_t participants, struct acct_round *out);
/* A record counts in its bin, NULL nowhere. */
CM_CHECK enum cm_rc pt_mixbins_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);

/* Dummies in all to expect in a round of so many participants: theirs and the shuffler's; a whole number
 * without dummy_chance.  Of any row whose parameters begin as pt_mixbins do. */
double pt_mixbins_dummies(const struct pt_randomizer *p, uint64_t participants);
/* The same where the messages that are not NULL were counted: all but one of each participant, as far as
 * there can be so many. */
double pt_mixbins_dummies_among(const struct pt_randomizer *p, uint64_t messages, uint64_t participants);
/* Messages that `reports` participants and the shuffler send at most, and the dummies among them.  CM_EDATA
 * when there are no participants, too many, or more messages in counts[bins] than can have been sent. */
CM_CHECK enum cm_rc pt_mixbins_totals(const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports,
	double *dummies, struct cm_err *err);
/* The batch, for what is said of those who have a reading (es_holders.h); counts are borrowed. */
struct es_counted pt_mixbins_counted(
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, double dummies);
/* A message as support of its bin, with N dummies in all. */
struct es_support pt_mixbins_support(const struct pt_randomizer *p, double dummies);
