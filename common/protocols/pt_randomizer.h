/* pt_randomizer.h - the exact randomizer of a round, which the signed descriptor states: a row of the
 * table, the row's parameters, and what the shuffler does. */
#pragma once

#include <stdbool.h>

#include "qy_query.h"

#define PT_SLOTS_MAX 16u
#define PT_TAGS_MAX  65535u
/* Most dummies of the shuffler in a round.  It seals some 10,000 a second and stores about 64 bytes for
 * each, so these take a quarter of an hour and 640 MB on disk. */
#define PT_SHUFFLER_DUMMIES_MAX 10000000u

struct pt_device;

/* ---- Parameters: a struct for each family of rows ---- */

/* Every chance is an integer t that stands for t / 2^64.
 *
 * Parameters of randomized response among dummies (pt_mixbins.h). */
struct pt_mixbins {
	uint32_t bins;         /* k, the number of symbols that a message may state, 2..PR_CATEGORIES_MAX */
	uint32_t dummies;      /* number of blanket messages that each client adds */
	uint64_t dummy_chance; /* chance that one more message of each client is a dummy; otherwise that
				  message is NULL, and counts for no bin.  0: there is no such message */
	bool keep_always;      /* messages always state the sender's bin: no local guarantee, and keep is 0 */
	uint64_t keep;         /* chance that a message states its sender's bin */
};

/* One item of a padded set (pt_privset.h).  Of `mixbins` only bins and keep are used. */
struct pt_privset {
	struct pt_mixbins mixbins; /* its bins are the items, and behind them `size` symbols of padding */
	uint32_t size;             /* number of items that each set has when it is padded */
};

/* The same in several slots of a round (pt_slots.h).  Each client sends one message and its dummies to each
 * slot, and the messages of a slot are a batch of their own.  In rows with classes each slot is a class. */
struct pt_slot {
	uint32_t count; /* number of slots with these parameters, 1 or more */
	/* number G of groups, 1 or more: a device draws one, and answers for that group alone */
	uint32_t groups;
	struct pt_mixbins each; /* how a group's bin is randomized; dummies are uniform on the G k bins of all
				   groups together */
};
struct pt_slots {
	uint32_t kinds; /* number of different slots in slot[], 1..PT_SLOTS_MAX */
	struct pt_slot slot[PT_SLOTS_MAX];
};
/* Words of a rotated vector. */
struct pt_rotated {
	struct pt_slots slots;
	uint64_t scale; /* what a coordinate is multiplied by before its sign is drawn: pt_rotated.c */
};
/* The coordinates with the largest values (pt_ss_topk.c). */
struct pt_topk {
	struct pt_slots slots; /* its only slot: the groups are the coordinates, and its dummies are those of
				  the client */
	uint32_t size;         /* number of coordinates that are sent because their values are large */
};

/* One wide message and no dummies (pt_single.h).  These are all parameters of "hadamard"; the next two
 * structs begin with them. */
struct pt_single {
	uint32_t bins; /* number of bins of the histogram */
	uint64_t keep;
};
/* Parameters of "subset", whose message is a set of `size` categories, and of "olh", whose message is one
 * of `size` cells of a hash. */
struct pt_sized {
	uint32_t bins;
	uint64_t keep; /* chance that the subset has the value, or that the cell is the value's */
	uint32_t size;
};
struct pt_unary {
	uint32_t bins;
	uint64_t keep;  /* chance that the value's bit is set */
	uint64_t other; /* chance that any other bit is set */
};

/* One wide message among wide dummies (pt_multi.h): bins and dummies as above. */
struct pt_multi {
	uint32_t bins, dummies;
	uint64_t dummy_chance;
	uint32_t size; /* number of faces of a dummy, what it may state */
};
struct pt_cheu {
	uint32_t bins, dummies;
	uint64_t dummy_chance;
	uint64_t keep, other; /* as in struct pt_unary */
};

/* One symbol of a bounded number and no dummies (pt_number.h). */
struct pt_number {
	uint32_t bins; /* levels 0..bins-1 */
	uint64_t keep;
	uint32_t size; /* "piecewise": width of the window; "staircase": width of a step; else 0 */
};

/* A cell of a grid (pt_planar.h). */
struct pt_planar {
	uint32_t width, height; /* cells of each axis */
	uint64_t decay; /* factor by which the chance of an offset falls with each 1/1024 cell of distance */
};

/* Signs of some coordinates (pt_vrr.c). */
struct pt_vrr {
	uint32_t dimension;
	uint32_t size; /* number of coordinates in a message */
	uint64_t keep; /* chance that a sign is not flipped */
};

/* ---- The randomizer ---- */

/* What the shuffler does to a round.  The shuffler reads this without knowing the row. */
struct pt_shuffler {
	/* blanket messages that the shuffler adds to the round; only in rows with dummy() */
	uint64_t dummies;
	/* Rows with route(): number of tags, at most PT_TAGS_MAX; 0: messages have no tags. */
	uint32_t tags;
	/* Number of messages that it releases of each tag.  If there are more it drops some, drawn
	 * uniformly; if there are fewer it adds dummies of that tag.  0: it releases all that came.  For
	 * all tags together at most PT_SHUFFLER_DUMMIES_MAX. */
	uint64_t tag_messages;
	/* If tags are classes, and all messages of a device have the tag of the class that it chose: number
	 * of participants that each class must have, or the round is void.  All 0: tags are not classes. */
	uint32_t tag_least[PT_SLOTS_MAX];
	/* Rows with noise_bins(): law of the number of dummies that it adds to each bin (pt_noise.h); 0: no
	 * noise. */
	uint64_t noise_decay;
	uint32_t noise_mean;
};

struct pt_randomizer {
	const struct pt_device *row;
	struct pt_shuffler shuffler;
	/* the member of the row's family; a member may be read as another one that begins with the same
	 * fields */
	union {
		struct pt_mixbins mixbins;
		struct pt_privset privset;
		struct pt_slots slots;
		struct pt_rotated rotated;
		struct pt_topk topk;
		struct pt_single single;
		struct pt_sized sized, subset, olh;
		struct pt_unary unary;
		struct pt_multi multi;
		struct pt_cheu cheu;
		struct pt_number number;
		struct pt_vrr vrr;
		struct pt_planar planar;
	};
};

/* pt_randomizer_equal: are a and b the same randomizer?  pt_randomizer_alike: do they have the same
 * parameters by name and value, although their rows may differ? */
bool pt_randomizer_equal(const struct pt_randomizer *a, const struct pt_randomizer *b);
bool pt_randomizer_alike(const struct pt_randomizer *a, const struct pt_randomizer *b);

/* Does the round's guarantee assume messages that the shuffler adds? */
bool pt_rests_on_shuffler(const struct pt_randomizer *p);
/* Would the guarantee be weaker if the shuffler added none? */
bool pt_needs_shuffler(const struct pt_randomizer *p);
/* The most messages that the shuffler may have to add. */
uint64_t pt_shuffler_most(const struct pt_randomizer *p);
/* Number of bins to which the shuffler adds noise; 0: it adds no noise. */
uint32_t pt_noise_bins(const struct pt_randomizer *p);
/* Change the randomizer to that of a round in which the shuffler adds nothing, to compute the loss without
 * it. */
void pt_without_shuffler(struct pt_randomizer *p);
/* Do the round's tags stand for classes? */
bool pt_has_classes(const struct pt_randomizer *p);
