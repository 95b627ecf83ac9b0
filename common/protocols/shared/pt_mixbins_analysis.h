/* pt_mixbins_analysis.h - computes the loss and the answer of a round of pt_mixbins.h. */
#pragma once

#include "es_holders.h"
#include "pt_mixbins.h"
#include "pt_protocol.h"

/* Initialisers for the members of struct pt_protocol that every row of this randomizer has in common. */
#define PT_MIXBINS_ANALYSIS .tallies = pt_mixbins_bins, .cells = pt_mixbins_cells, .tally = pt_mixbins_tally

/* Derive p->mixbins for epsilon0 (0, 16] or INFINITY.  P <= e^epsilon0 / (e^epsilon0 + k - 1) strictly, so
 * that pt_mixbins_epsilon0(out) <= epsilon0.  CM_ECONFIG names what is out of range; INFINITY needs
 * dummies. */
CM_CHECK enum cm_rc pt_mixbins_derive(const struct pt_protocol *row, uint32_t bins, double epsilon0,
	uint32_t dummies, struct pt_randomizer *out, struct cm_err *err);
/* The same from a plan's request, with `bins` given; the shuffler's dummies count, and also make INFINITY
 * possible. */
CM_CHECK enum cm_rc pt_mixbins_request(const struct pt_protocol *row, uint32_t bins,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);

uint32_t pt_mixbins_bins(const struct pt_randomizer *p);
CM_CHECK enum cm_rc pt_mixbins_cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err);
/* Add the level of dummies that are sent with dummy_chance to a round whose cells and dummies are known: a
 * message of each participant that is blanket with that chance, rounded down by more than the error of
 * chance, W and quotient.
 *
 * It is harmless that NULLs can be seen, since their number is independent of all values.  Given the number
 * K of the messages that are not NULL, these are uniform dummies as if every client had sent more, so the
 * round's hockey-stick divergence is that of a round with K more dummies, averaged over K.  Such a message
 * has the law f omega/W on the cells, where f is the chance, and is NULL otherwise: it is a message of a
 * level of share f / W.  With P = 1 that is exactly the loss (tests/unit/test_rare_loss.c enumerates small
 * rounds). */
void pt_mixbins_rare(uint64_t dummy_chance, uint64_t participants, struct acct_round *out);
/* Count a record at its bin; a NULL is counted nowhere. */
CM_CHECK enum cm_rc pt_mixbins_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);

/* The expected number of dummies in a round of so many participants, theirs and the shuffler's; a whole
 * number without dummy_chance.  For any row whose parameters begin as pt_mixbins does. */
double pt_mixbins_dummies(const struct pt_randomizer *p, uint64_t participants);
/* The same where the messages that are not NULL were counted: all of them except one from each participant,
 * as far as there can be so many. */
double pt_mixbins_dummies_among(const struct pt_randomizer *p, uint64_t messages, uint64_t participants);
/* The most messages that `reports` participants and the shuffler send, and the dummies among them.
 * CM_EDATA if there are no participants, too many, or more messages in counts[bins] than can have been
 * sent. */
CM_CHECK enum cm_rc pt_mixbins_totals(const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports,
	double *dummies, struct cm_err *err);
/* The counts of the batch, for estimates about the devices that have a reading (es_holders.h); counts are
 * borrowed. */
struct es_counted pt_mixbins_counted(
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, double dummies);
/* How a message supports its bin, with N dummies in all. */
struct es_support pt_mixbins_support(const struct pt_randomizer *p, double dummies);
