/* parties.h - a client and a shuffler by their cores, under one signed plan, whose states can be taken back:
 * for games in which every move of an analyzer is tried.
 *
 * The path is the tries that were announced, in order, and how each ended.  The client's state is a database,
 * kept and put back by parties_keep and parties_put_back; the shuffler's is made of the path each time. */
#pragma once

#include "cl_world.h"
#include "rd_plan.h"
#include "sh_policy.h"

#define PARTIES_TRIES 8u /* of a path */

struct party_try {
	struct rd_descriptor d; /* its query is borrowed */
	uint8_t manifest[512], manifest_hash[PR_HASH_LEN], signature[CR_SIGN_LEN];
	size_t len;
	bool sealed;
};

struct parties {
	struct cl_world world; /* the client's, and everybody's keys */
	struct sh_policy policy;
	struct rd_plan plan;
	struct rd_pin pin; /* the shuffler's */
	struct party_try path[PARTIES_TRIES];
	struct cl_offer offer; /* the last try announced, as signed */
};

/* Without a plan; the client's policy may be changed. */
void parties_make(struct parties *p);
void parties_free(struct parties *p);
/* Sign this plan, with what it lacks as cl_offer_plan has it for a round like `like`, which becomes a round
 * of it; each party pins it by its own composition. */
void parties_plan(struct parties *p, const struct rd_plan *plan, struct cl_offer *like);

/* A copy of the client's state, to be closed with sqlite3_close; and back. */
sqlite3 *parties_keep(struct parties *p);
void parties_put_back(struct parties *p, sqlite3 *kept);

/* Sign d as try number `at` of the path, naming this VOID manifest (NULL: none). */
void parties_announce(struct parties *p, size_t at, const struct rd_descriptor *d, const uint8_t *named);
/* Whether the shuffler would announce try `at`, after those before it. */
bool parties_shuffler(struct parties *p, size_t at);
/* Whether the client takes part in try `at`.  If so, its report is stored, sent and erased.  *asked: it wants
 * the manifest of the try before, which it is given or not. */
bool parties_client(struct parties *p, size_t at, bool give, bool *asked);
/* Try `at` is sealed with one participant, or void with none. */
void parties_end(struct parties *p, size_t at, bool sealed);
