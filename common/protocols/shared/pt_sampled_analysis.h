/* pt_sampled_analysis.h - computes the loss and the answer of a round of pt_sampled.h.
 *
 * Counts go slot by slot, and in each word by word, as in pt_slots_analysis.h. */
#pragma once

#include "pt_sampled.h"
#include "pt_slots_analysis.h"

/* Initialisers for the columns of a row whose clients answer one slot. */
#define PT_SAMPLED_ANALYSIS .tallies = pt_slots_symbols, .tally = pt_slots_tally, .cells = pt_sampled_cells

/* pt_slots_derive for a row whose clients answer one slot.  The request's epsilon0 is that of each slot,
 * and so of the message.  CM_ECONFIG names what is wrong. */
CM_CHECK enum cm_rc pt_sampled_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, pt_slots_of *slots, struct pt_randomizer *out, struct cm_err *err);
/* Compute the cells.  With s slots, a message is word y of slot i with chance at least Q_i / s, whatever
 * its sender holds; this is the chance of some input for every word, if k_i > 1.  An input's chance is p_i
 * = P_i / Q_i times that at its own word of each slot.  Two inputs that differ in all slots have in slot i
 * one word of ratios (p_i, 1), one of (1, p_i) and k_i - 2 of (1, 1), each of blanket Q_i / s.  Inputs that
 * agree in slot i have (p_i, p_i) and (1, 1) in place of the first two, a mean-preserving contraction in X
 * = u - E v, so their delta is not larger (pt_slots.h).  The (1, 1) of all slots are one cell.  The slot's
 * number is part of the symbol, so it is accounted for that the analyzer sees which question was answered.
 * tests/unit/test_sampled_rows.c compares small rounds with the cells, over all inputs. */
CM_CHECK enum cm_rc pt_sampled_cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err);

/* How a message supports one word of slot s, whose messages are counted in counts[bins]: their sum, at most
 * `reports`, is the number of devices that drew the slot.  A pt_slot_law. */
pt_slot_law pt_sampled_support;
/* The same before the round: an equal part of the participants, 1 or more, draws the slot. */
pt_slot_before pt_sampled_before;

/* The honest devices' counts of a slot that only some devices drew: a pt_slot_honest.  The least share of the
 * slot's honest messages states a word if as many of the word's messages as possible are the liars', the
 * largest share if as many of the other words' are. */
pt_slot_honest pt_sampled_honest;
