/* pt_mixbins.h - the randomizer all rows share: keep a bin or take another one, among uniform dummies.
 *
 * Alphabet 0..k-1.  A client holding bin x sends x with probability P = keep / 2^64, each other bin with
 * Q = (1 - P) / (k - 1), `dummies` messages uniform on the k bins, and with dummy_chance one more, which is
 * NULL where the chance fails.  keep_always: P = 1.  The accountant and the estimators use these exact
 * probabilities, never the epsilon0 that was asked for.  Source: doc/protocols.md. */
#pragma once

#include "pt_histogram.h"
#include "pt_protocol.h"
#include "pt_record.h"

/* The columns of a protocol's row that every row of this randomizer has in common. */
#define PT_MIXBINS_COLUMNS                                                                                \
	.messages = pt_mixbins_messages, .record_len = pt_mixbins_record_len, .tallies = pt_mixbins_bins, \
	.epsilon0 = pt_mixbins_epsilon0, .cells = pt_mixbins_cells, .tally = pt_mixbins_tally

/* Exact parameters for epsilon0 (0, 16] or INFINITY.  P <= e^epsilon0 / (e^epsilon0 + k - 1) strictly, so
 * that pt_mixbins_epsilon0(out) <= epsilon0.  CM_ECONFIG names what is out of range; INFINITY needs dummies.
 * The name is copied into out->protocol. */
CM_CHECK enum cm_rc pt_mixbins_derive(const char *name, uint32_t bins, double epsilon0, uint32_t dummies,
	struct pt_params *out, struct cm_err *err);
/* The same from a plan's request, whose `bins` are given; with dummies of the shuffler, which also make
 * INFINITY possible. */
CM_CHECK enum cm_rc pt_mixbins_request(const char *name, uint32_t bins, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err);
/* Could pt_mixbins_derive have made these?  CM_EPROTO otherwise. */
CM_CHECK enum cm_rc pt_mixbins_check(const char *name, const struct pt_params *p, struct cm_err *err);

double pt_mixbins_keep(const struct pt_params *p);  /* P */
double pt_mixbins_other(const struct pt_params *p); /* Q; 0 when keep_always */
uint32_t pt_mixbins_messages(const struct pt_params *p);
uint32_t pt_mixbins_record_len(const struct pt_params *p);
uint32_t pt_mixbins_bins(const struct pt_params *p);
/* ln(P / Q), rounded up. */
double pt_mixbins_epsilon0(const struct pt_params *p);
CM_CHECK enum cm_rc pt_mixbins_cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err);
/* Of a round with this dummy_chance, when its cells and dummies are known: a message of each participant that
 * is blanket with that chance, rounded down. */
void pt_mixbins_rare(uint64_t dummy_chance, uint64_t participants, struct acct_round *out);
/* Which message of `messages`, besides the one at `place`, may be NULL, and all ones if it is: mask of
 * message i.  With dummy_chance 0 none is. */
struct pt_rare {
	uint64_t at, missing;
};
struct pt_rare pt_rare_draw(
	uint64_t dummy_chance, uint64_t messages, uint64_t place, const struct cm_rng *rng);
uint64_t pt_rare_mask(const struct pt_rare *r, uint64_t i);
/* The bin that is sent for `bin`; and one message of a slot among dummies uniform on `symbols`,
 * pt_mixbins_messages in all.  The two halves of pt_mixbins_encode. */
uint64_t pt_mixbins_draw(const struct pt_params *p, uint64_t bin, const struct cm_rng *rng);
void pt_mixbins_hide(const struct pt_params *p, uint64_t real, uint64_t symbols, uint16_t slot,
	const struct cm_rng *rng, uint8_t *records);
/* `bin` is a secret: see pt_mixbins.c on what its execution may depend on. */
void pt_mixbins_encode(const struct pt_params *p, uint64_t bin, const struct cm_rng *rng, uint8_t *records);
/* A message uniform on the k bins, as each of the dummies of pt_mixbins_encode is; of bin `tag` in a round
 * with noise. */
void pt_mixbins_dummy(const struct pt_params *p, uint32_t tag, const struct cm_rng *rng, uint8_t *record);
/* A record counts in its bin, NULL nowhere. */
CM_CHECK enum cm_rc pt_mixbins_tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);

/* Dummies in all to expect in a round of so many participants: theirs and the shuffler's; a whole number
 * without dummy_chance. */
double pt_mixbins_dummies(const struct pt_params *p, uint64_t participants);
/* The same where the messages that are not NULL were counted: all but one of each participant, as far as
 * there can be so many. */
double pt_mixbins_dummies_among(const struct pt_params *p, uint64_t messages, uint64_t participants);
/* Messages that `reports` participants and the shuffler send at most, and the dummies among them.  CM_EDATA
 * when there are no participants, too many, or more messages in counts[bins] than can have been sent. */
CM_CHECK enum cm_rc pt_mixbins_totals(const struct pt_params *p, const uint64_t *counts, uint64_t reports,
	double *dummies, struct cm_err *err);
/* A message as support of its bin, with N dummies in all. */
struct pt_support pt_mixbins_support(const struct pt_params *p, double dummies);
