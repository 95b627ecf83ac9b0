/* pt_mixbins.h - the randomizer that most rows share: keep a bin or take another one, among uniform
 * dummies.
 *
 * The alphabet is 0..k-1.  A client that holds bin x sends x with probability P = keep / 2^64, and each
 * other bin with Q = (1 - P) / (k - 1).  It adds `dummies` messages that are uniform on the k bins, and one
 * more with chance dummy_chance, in whose place it otherwise sends NULL.  keep_always: P = 1.  The
 * accountant and the estimators use these exact probabilities, never the epsilon0 that was asked for.
 * Source: doc/protocols/shared.md.  pt_mixbins_analysis.h computes the loss and the answer of such a
 * round. */
#pragma once

#include "pt_device.h"
#include "pt_ratio.h"
#include "pt_record.h"

/* Initialisers for the members of struct pt_device that every row of this randomizer has in common. */
#define PT_MIXBINS_DEVICE \
	.messages = pt_mixbins_messages, .record_len = pt_mixbins_record_len, .epsilon0 = pt_mixbins_epsilon0

/* Layouts of the parameters: bins and keep alone, and all of them. */
extern const struct pt_layout pt_mixbins_single, pt_mixbins_layout;

/* Check parameters as a plan could have made them.  covered: dummies of others hide a message, too.
 * CM_EPROTO if it could not. */
CM_CHECK enum cm_rc pt_mixbins_law_check(
	const struct pt_device *row, const struct pt_mixbins *m, bool covered, struct cm_err *err);
/* The same check of p->mixbins and of the shuffler's part. */
CM_CHECK enum cm_rc pt_mixbins_check(const struct pt_randomizer *p, struct cm_err *err);

double pt_mixbins_keep(const struct pt_mixbins *m);  /* P as a double */
double pt_mixbins_other(const struct pt_mixbins *m); /* Q as a double; 0 if keep_always */
/* P / Q. */
struct pt_ratio pt_mixbins_ratio(const struct pt_mixbins *m);
/* The local guarantee ln(P / Q), rounded up. */
double pt_mixbins_guarantee(const struct pt_mixbins *m);
/* Is P above 1/k by enough?  If it is hardly above, a message says nothing about the value, and below 1/k
 * it says something false. */
bool pt_mixbins_says_something(const struct pt_mixbins *m);
/* number of messages that a client sends: its own, the dummies, and one more with dummy_chance */
uint32_t pt_mixbins_sent(const struct pt_mixbins *m);

uint32_t pt_mixbins_messages(const struct pt_randomizer *p);
uint32_t pt_mixbins_record_len(const struct pt_randomizer *p);
double pt_mixbins_epsilon0(const struct pt_randomizer *p);

/* Which message of `messages`, other than the one at `place`, may be NULL, and all ones if it is: the mask
 * of message i.  If dummy_chance is 0, no message is. */
struct pt_rare {
	uint64_t at, missing;
};
struct pt_rare pt_rare_draw(
	uint64_t dummy_chance, uint64_t messages, uint64_t place, const struct cr_rng *rng);
uint64_t pt_rare_mask(const struct pt_rare *r, uint64_t i);
/* Draw the bin that is sent for `bin`; and hide one message of a slot among dummies that are uniform on
 * `symbols`, pt_mixbins_sent in all. These are the two halves of pt_mixbins_encode. */
uint64_t pt_mixbins_draw(const struct pt_mixbins *m, uint64_t bin, const struct cr_rng *rng);
void pt_mixbins_hide(const struct pt_mixbins *m, uint64_t real, uint64_t symbols, uint16_t slot,
	const struct cr_rng *rng, uint8_t *records);
/* Encode `bin`, which is a secret: pt_mixbins.c says what the execution may depend on. */
void pt_mixbins_encode(const struct pt_mixbins *m, uint64_t bin, const struct cr_rng *rng, uint8_t *records);
/* Make a message that is uniform on the k bins, as each dummy of pt_mixbins_encode is; in a round with
 * noise, one of bin `tag`. */
void pt_mixbins_dummy(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record);
