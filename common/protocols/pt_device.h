/* pt_device.h - the device half of the table of protocols: makes messages from a value.
 *
 * A protocol is a row with two halves.  This half has all that a device needs: the row's parameters, their
 * bytes, the check whether they are possible, and the messages.  It also has what the shuffler needs to
 * make messages of its own.  It links without estimators and without the accountant.  The other half is
 * pt_protocol.h.  Rows have no state: they get their random numbers from the caller.  Sources:
 * doc/protocols/README.md. */
#pragma once

#include "cr_rand.h"
#include "pt_parameters.h"
#include "pt_randomizer.h"
#include "qy_value.h"

#define PT_RECORD_MAX   4096u
#define PT_EPSILON0_MAX 16.0
/* Least epsilon0 of a randomizer, in nats.  An estimate is divided by P - Q (es_histogram.h), and for a
 * smaller epsilon0 rounding would change P - Q by more than a millionth, and in the end make it 0.  The
 * least epsilon0 of a plan is a hundred times as large. */
#define PT_EPSILON0_MIN 1e-6
/* The words that describe a NULL message to its sender. */
#define PT_NOTHING "nothing"

/* The device half of a row.  The randomizer that its functions get is always of this row. */
struct pt_device {
	const char *name;    /* as in descriptors, plan files and tombola-accountant, such as "grr" */
	const char *summary; /* one line for --help */
	unsigned kinds;      /* the kinds of query that it answers (enum qy_kind), or-ed */
	/* The kinds, or-ed, in which a device without a reading may hold a symbol of its own
	 * (QY_NONE_SYMBOL).  There are then qy_query_symbols(q) more bins, cells and tallies, also for
	 * dummies and the expected error.  encode() handles the symbol without a branch.  The estimate ends
	 * with an item that has `none`, the count of the symbol.  Queries of other kinds need QY_NONE_EVEN
	 * or QY_NONE_VALUE, by which such devices hold an ordinary value. */
	unsigned none_symbol;
	/* names of the row's parameters, and how their bytes are laid out */
	const struct pt_layout *parameters;

	/* Check that a peer's parameters are possible for this query.  CM_EPROTO: they are not. */
	enum cm_rc (*check)(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
	/* number of messages that a client sends, the same for every client */
	uint32_t (*messages)(const struct pt_randomizer *p);
	uint32_t (*record_len)(
		const struct pt_randomizer *p);            /* bytes of each message, at most PT_RECORD_MAX */
	double (*epsilon0)(const struct pt_randomizer *p); /* local guarantee, rounded up */
	/* The local guarantee of the members of one class; NULL if the row has no classes. */
	double (*class_epsilon0)(const struct pt_randomizer *p, uint32_t class);
	/* Number of bytes of working memory that encode() needs; NULL: it needs none.  It depends on the
	 * query and the randomizer only. */
	size_t (*room)(const struct qy_query *q, const struct pt_randomizer *p);
	/* Randomize a value into messages() records of record_len() bytes each, in random order.  No branch
	 * or index depends on the value or on the random outcome.
	 *
	 * room: room() bytes, aligned to 64, all zero before the first value; ignored where room() is NULL.
	 * The caller may pass them again for later values of the same query and randomizer, on one thread
	 * at a time.  encode() wipes what depends on a value before it returns. */
	void (*encode)(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
		const struct cr_rng *rng, uint8_t *records, void *room);
	/* Describe a record in words for its sender, such as "+3 -4 of slot 2".  NULL: naming the
	 * categories that it supports describes it. */
	void (*describe)(const struct qy_query *q, const struct pt_randomizer *p, const uint8_t *record,
		char *out, size_t size);
	/* Set the tag of each of a client's messages, 0..tags-1, from the records that encode() made or
	 * from the value's class.  The shuffler sees tags, the analyzer does not.  NULL: messages have no
	 * tags. */
	void (*route)(const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records,
		uint16_t *tags);
	/* Tags depend on values.  So nothing may show how many messages have a tag, and the time that
	 * filling up tags with dummies takes must not show it either. */
	bool routes_by_value;
	bool classes_apart; /* each class is a batch of its own: its members hide only each other */
	/* the row has the parameter dummy_chance: a client may add one dummy more by chance */
	bool rare_dummy;
	/* Make one dummy as the shuffler adds them: a blanket record of record_len() bytes, whose law
	 * depends on nobody's value.  It has this tag (0 if there are no tags); in a round with noise it
	 * has the bin `tag`.  NULL: the shuffler may not add messages, and its dummies, tag_messages and
	 * noise_mean are 0. */
	void (*dummy)(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record);
	/* Number of bins to which the shuffler may add noise: for each it draws how many dummies it adds.
	 * NULL: it may not add noise. */
	uint32_t (*noise_bins)(const struct pt_randomizer *p);
};

/* The row with this name; NULL: there is none. */
const struct pt_device *pt_device_find(const char *name);
/* Row i, NULL past the last. */
const struct pt_device *pt_device_at(size_t i);

/* Check that in this row devices without a reading can take part as q says.  If not, returns `code`, and
 * err names the row. */
CM_CHECK enum cm_rc pt_none_check(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);
