/* pt_device.h - the device half of the table of protocols: how a value becomes messages.
 *
 * A protocol is a row with two halves.  This one is all that a device needs: what parameters there are, their
 * bytes, whether they are possible, and the messages; and what the shuffler needs to make messages alike.  It
 * links without estimators and without the accountant.  The other half is pt_protocol.h.  Rows are pure:
 * randomness comes in.  Sources: doc/protocols/README.md. */
#pragma once

#include "cr_rand.h"
#include "pt_parameters.h"
#include "pt_randomizer.h"
#include "qy_value.h"

#define PT_RECORD_MAX   4096u
#define PT_EPSILON0_MAX 16.0
/* Below it P - Q, which an estimate is divided by, would lose more than a millionth to rounding, and at last
 * be 0; a plan's least is a hundred times as much. */
#define PT_EPSILON0_MIN 1e-6
/* What a NULL message says, for its sender. */
#define PT_NOTHING "nothing"

/* Functions get the randomizer: its row is this one. */
struct pt_device {
	const char *name;    /* "grr": descriptors, plan files, tombola-accountant */
	const char *summary; /* one line for --help */
	unsigned kinds;      /* the enum qy_kind it answers, or-ed */
	/* Those of them in which a device without a reading holds a symbol of its own (QY_NONE_SYMBOL): bins,
	 * cells, dummies, tallies, estimate and expected error have qy_query_symbols(q) more, encode() takes
	 * it without a branch, and the estimate ends with its count, an item with `none`.  Others need
	 * QY_NONE_EVEN or QY_NONE_VALUE, which reach the row as ordinary values. */
	unsigned none_symbol;
	const struct pt_layout *parameters; /* names and bytes of the row's parameters */

	/* Are a peer's parameters possible for this query?  CM_EPROTO otherwise. */
	enum cm_rc (*check)(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
	uint32_t (*messages)(const struct pt_randomizer *p); /* per client, the same for every client */
	uint32_t (*record_len)(
		const struct pt_randomizer *p);            /* bytes of each message, at most PT_RECORD_MAX */
	double (*epsilon0)(const struct pt_randomizer *p); /* local guarantee, rounded up */
	/* Of the members of one class; NULL where participants choose none. */
	double (*class_epsilon0)(const struct pt_randomizer *p, uint32_t class);
	/* Bytes that encode() works in; NULL: none.  They follow the query and the randomizer. */
	size_t (*room)(const struct qy_query *q, const struct pt_randomizer *p);
	/* messages() records of record_len() bytes each, in random order among themselves.  No branch or
	 * index depends on the value or on which outcome was drawn.
	 * room: room() bytes at a multiple of 64, zeroes before the first value; they may be kept for the
	 * values after it, of this query and this randomizer, on one thread at a time.  What a value left in
	 * them is wiped before encode() returns.  Ignored where room is NULL. */
	void (*encode)(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
		const struct cr_rng *rng, uint8_t *records, void *room);
	/* What a record says, in words for its sender: "+3 -4 of slot 2".  NULL: what it counts as says
	 * it. */
	void (*describe)(const struct qy_query *q, const struct pt_randomizer *p, const uint8_t *record,
		char *out, size_t size);
	/* The tag of each of a client's messages, below tags: what encode() made of the value, or the value's
	 * class, says it.  The shuffler sees tags, the analyzer does not.  NULL: messages have none. */
	void (*route)(const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records,
		uint16_t *tags);
	/* The tags depend on values: no count of them may be told, nor the time that filling up takes. */
	bool routes_by_value;
	bool classes_apart; /* a class is a batch of its own: its members alone hide each other */
	bool rare_dummy;    /* a client's dummies may be a fraction: dummy_chance */
	/* One blanket record, as the shuffler adds them, of this tag (0 where there are none): of one law
	 * whatever anybody holds, of the bytes a client's message has; of a round with noise, of the bin
	 * `tag`.  NULL: no shuffler may add any, and its dummies, tag_messages and noise_mean are 0. */
	void (*dummy)(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record);
	/* Bins that the shuffler may add noise to: it draws how many dummies of each it adds.  NULL: it may
	 * not. */
	uint32_t (*noise_bins)(const struct pt_randomizer *p);
};

/* NULL if there is none. */
const struct pt_device *pt_device_find(const char *name);
/* Row i, NULL past the last. */
const struct pt_device *pt_device_at(size_t i);

/* Can the row let devices without a reading take part as q says?  `code` and a line that names the row
 * otherwise. */
CM_CHECK enum cm_rc pt_none_check(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);
