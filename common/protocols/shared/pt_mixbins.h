/* pt_mixbins.h - the randomizer most rows share: keep a bin or take another one, among uniform dummies.
 *
 * Alphabet 0..k-1.  A client holding bin x sends x with probability P = keep / 2^64, each other bin with
 * Q = (1 - P) / (k - 1), `dummies` messages uniform on the k bins, and with dummy_chance one more, which is
 * NULL where the chance fails.  keep_always: P = 1.  The accountant and the estimators use these exact
 * probabilities, never the epsilon0 that was asked for.  Source: doc/protocols/shared.md.  What follows from
 * a round of them is in pt_mixbins_analysis.h. */
#pragma once

#include "pt_device.h"
#include "pt_record.h"

/* The columns of a device's row that every row of this randomizer has in common. */
#define PT_MIXBINS_DEVICE \
	.messages = pt_mixbins_messages, .record_len = pt_mixbins_record_len, .epsilon0 = pt_mixbins_epsilon0

/* Parameters: bins and keep alone, and all of them. */
extern const struct pt_layout pt_mixbins_single, pt_mixbins_layout;

/* Could a plan have made these?  covered: others' dummies hide a message, too.  CM_EPROTO otherwise. */
CM_CHECK enum cm_rc pt_mixbins_law_check(
	const struct pt_device *row, const struct pt_mixbins *m, bool covered, struct cm_err *err);
/* The same of p->mixbins and the shuffler's part. */
CM_CHECK enum cm_rc pt_mixbins_check(const struct pt_randomizer *p, struct cm_err *err);

double pt_mixbins_keep(const struct pt_mixbins *m);  /* P */
double pt_mixbins_other(const struct pt_mixbins *m); /* Q; 0 when keep_always */
/* P / Q, of a relative error below 2^(2 - LDBL_MANT_DIG). */
long double pt_mixbins_ratio(const struct pt_mixbins *m);
/* ln(P / Q), rounded up. */
double pt_mixbins_guarantee(const struct pt_mixbins *m);
/* P hardly above 1/k says nothing about the value, and below it something false. */
bool pt_mixbins_says_something(const struct pt_mixbins *m);
uint32_t pt_mixbins_sent(const struct pt_mixbins *m); /* messages of a client */

uint32_t pt_mixbins_messages(const struct pt_randomizer *p);
uint32_t pt_mixbins_record_len(const struct pt_randomizer *p);
double pt_mixbins_epsilon0(const struct pt_randomizer *p);

/* Which message of `messages`, besides the one at `place`, may be NULL, and all ones if it is: mask of
 * message i.  With dummy_chance 0 none is. */
struct pt_rare {
	uint64_t at, missing;
};
struct pt_rare pt_rare_draw(
	uint64_t dummy_chance, uint64_t messages, uint64_t place, const struct cr_rng *rng);
uint64_t pt_rare_mask(const struct pt_rare *r, uint64_t i);
/* The bin that is sent for `bin`; and one message of a slot among dummies uniform on `symbols`,
 * pt_mixbins_sent in all.  The two halves of pt_mixbins_encode. */
uint64_t pt_mixbins_draw(const struct pt_mixbins *m, uint64_t bin, const struct cr_rng *rng);
void pt_mixbins_hide(const struct pt_mixbins *m, uint64_t real, uint64_t symbols, uint16_t slot,
	const struct cr_rng *rng, uint8_t *records);
/* `bin` is a secret: see pt_mixbins.c on what its execution may depend on. */
void pt_mixbins_encode(const struct pt_mixbins *m, uint64_t bin, const struct cr_rng *rng, uint8_t *records);
/* A message uniform on the k bins, as each of the dummies of pt_mixbins_encode is; of bin `tag` in a round
 * with noise. */
void pt_mixbins_dummy(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record);
