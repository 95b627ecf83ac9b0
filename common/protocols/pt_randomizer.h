/* pt_randomizer.h - the exact randomizer of a round, as it stands in the signed descriptor: a row of the
 * table, the row's own parameters, and what the shuffler does. */
#pragma once

#include <stdbool.h>

#include "qy_query.h"

#define PT_SLOTS_MAX 16u
#define PT_TAGS_MAX  65535u
/* A shuffler seals some 10,000 a second and keeps about 64 bytes of each: a quarter of an hour, 640 MB on
 * disk. */
#define PT_SHUFFLER_DUMMIES_MAX 10000000u

struct pt_device;

/* ---- Parameters: a struct for each family of rows ---- */

/* Every chance is an integer that stands for itself / 2^64.
 *
 * Randomized response among dummies (pt_mixbins.h). */
struct pt_mixbins {
	uint32_t bins;         /* k: alphabet of one message, 2..PR_CATEGORIES_MAX */
	uint32_t dummies;      /* blanket messages that each client adds */
	uint64_t dummy_chance; /* that one message more of each client is a dummy, too; else it is NULL, which
				  counts as nothing.  0: there is no such message */
	bool keep_always;      /* there is no local guarantee, and keep is 0 */
	uint64_t keep;         /* chance that a message says its sender's bin */
};

/* One item of a set among padding (pt_privset.h): of the mixbins, bins and keep alone. */
struct pt_privset {
	struct pt_mixbins mixbins; /* bins: the items, and `size` of padding */
	uint32_t size;             /* items that each padded set has */
};

/* The same in several batches of a round: each client sends each slot one message and its dummies, and a
 * slot's messages are a batch of their own (pt_slots.h).  Of rows with classes, each slot is a class. */
struct pt_slot {
	uint32_t count;  /* slots like this, 1 or more */
	uint32_t groups; /* G: the client draws one and answers for it alone; 1 or more */
	struct pt_mixbins
		each; /* how a group's bin is told; dummies are uniform on the G k bins of all groups */
};
struct pt_slots {
	uint32_t kinds; /* of slots, 1..PT_SLOTS_MAX */
	struct pt_slot slot[PT_SLOTS_MAX];
};
/* Words of a rotated vector. */
struct pt_rotated {
	struct pt_slots slots;
	uint64_t scale; /* pt_rotated.c */
};
/* The coordinates of largest value. */
struct pt_topk {
	struct pt_slots slots; /* one, its groups are the coordinates; its dummies are the client's */
	uint32_t size;         /* coordinates that are sent for their value */
};

/* One wide message and no dummies (pt_single.h): what the next three begin with, and all of "hadamard". */
struct pt_single {
	uint32_t bins; /* of the histogram */
	uint64_t keep;
};
/* Of "subset" and "olh": a message stands for `size` categories, or for one of so many cells of a hash. */
struct pt_sized {
	uint32_t bins;
	uint64_t keep; /* chance that the subset has the value, or that the cell is the value's */
	uint32_t size;
};
struct pt_unary {
	uint32_t bins;
	uint64_t keep;  /* chance that the value's bit is set */
	uint64_t other; /* and any other bit */
};

/* One wide message among wide dummies (pt_multi.h): bins and dummies as above. */
struct pt_multi {
	uint32_t bins, dummies;
	uint64_t dummy_chance;
	uint32_t size; /* faces of a dummy */
};
struct pt_cheu {
	uint32_t bins, dummies;
	uint64_t dummy_chance;
	uint64_t keep, other; /* as of pt_unary */
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
	uint64_t decay;         /* what the chance of an offset falls by, 1/1024 cell further away */
};

/* Signs of some coordinates (pt_vrr.c). */
struct pt_vrr {
	uint32_t dimension;
	uint32_t size; /* coordinates in a message */
	uint64_t keep; /* chance that a sign is not flipped */
};

/* ---- The randomizer ---- */

/* What the shuffler does to a round.  It reads this without knowing the row. */
struct pt_shuffler {
	uint64_t dummies; /* blanket messages that it adds, in all; only rows with dummy() */
	/* Rows with route(): tags of the round's messages, at most PT_TAGS_MAX; 0: none. */
	uint32_t tags;
	/* Messages of each tag that it releases: what is above is dropped, uniformly, what is missing is
	 * filled with dummies of that tag.  0: as they come.  At most PT_SHUFFLER_DUMMIES_MAX in all. */
	uint64_t tag_messages;
	/* Where a tag is a class that a device chose, and all its messages have it: the participants that
	 * each class must have, else the round is void.  All 0: tags are no classes. */
	uint32_t tag_least[PT_SLOTS_MAX];
	/* Rows with noise_bins(): the dummies of each bin that it adds, by pt_noise.h; 0: none. */
	uint64_t noise_decay;
	uint32_t noise_mean;
};

struct pt_randomizer {
	const struct pt_device *row;
	struct pt_shuffler shuffler;
	union { /* the member of the row's family; those that begin alike may be read as each other */
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

/* The same randomizer?  And apart from the row's name, under which there may be another: the same numbers of
 * the same names? */
bool pt_randomizer_equal(const struct pt_randomizer *a, const struct pt_randomizer *b);
bool pt_randomizer_alike(const struct pt_randomizer *a, const struct pt_randomizer *b);

/* Does the round's guarantee rest on messages that the shuffler is to add? */
bool pt_rests_on_shuffler(const struct pt_randomizer *p);
/* Would the guarantee be less if it added none? */
bool pt_needs_shuffler(const struct pt_randomizer *p);
/* The most that it may have to add. */
uint64_t pt_shuffler_most(const struct pt_randomizer *p);
/* Bins that noise is added to; 0: there is no noise. */
uint32_t pt_noise_bins(const struct pt_randomizer *p);
/* The round when it adds none: what its loss is then computed of. */
void pt_without_shuffler(struct pt_randomizer *p);
/* Do the round's tags stand for classes? */
bool pt_has_classes(const struct pt_randomizer *p);
