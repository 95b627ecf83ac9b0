/* cl_world.h - a client's state directory in /tmp, signed plans and descriptors of any protocol, and a policy
 * that allows them. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cl_judge.h"
#include "cl_pins.h"
#include "cl_reports.h"
#include "round_keys.h"

#define CL_WORLD_NOW     1700000000000 /* ms */
#define CL_WORLD_ENTRIES 4u            /* of a plan */
#define CL_WORLD_PLANS   8u

/* A signed plan, as the shuffler would serve it. */
struct cl_world_plan {
	struct cm_buf bytes;
	uint8_t signature[CR_SIGN_LEN], hash[PR_HASH_LEN];
};

struct cl_world {
	char dir[64];
	struct cl_db *db;
	struct round_keys analyzer, shuffler;
	struct cl_policy policy; /* generous; borrowed strings */
	struct cr_rng rng;       /* the system's */
	struct cr_key hpke;
	uint8_t hpke_public[CR_HPKE_PUBLIC_LEN];
	struct cl_world_plan plan[CL_WORLD_PLANS]; /* the last ones, which the shuffler serves */
	size_t plans;                              /* ever */
};
void cl_world_make(struct cl_world *w);
void cl_world_free(struct cl_world *w);
/* Close and open the database, as a restarted process does. */
void cl_world_restart(struct cl_world *w);

/* Decide what is taken of a plan, and pin it, as cl_judge does. */
enum cm_rc cl_world_pin(struct cl_db *db, const struct cl_policy *policy, const struct rd_plan *plan,
	const atomic_bool *stop, int64_t now_ms, struct cl_pin *out, struct cm_err *err);

/* A round, to be changed before it is signed. */
struct cl_offer {
	struct rd_descriptor d; /* query owned by cl_offer_free */
	struct cm_buf bytes;
	uint8_t signature[PR_SIGNATURE_LEN];
};
/* "grr", "bins", "mixbins": three colours; "levels": a number in [0, 10].  Sequence 1, minimum batch 1000;
 * try 1 of entry 1 of a plan of CL_WORLD_ENTRIES such rounds whose slice is all of the policy's budget. */
void cl_offer_make(struct cl_world *w, const char *protocol, double epsilon0, struct cl_offer *o);
/* Make `o` the next round after `before`. */
void cl_offer_after(struct cl_offer *o, const struct cl_offer *before);
/* The same, of the next entry of the same plan. */
void cl_offer_follow(struct cl_offer *o, const struct cl_offer *before);
/* Sign this plan; o becomes a round of it, to be signed: entry 1 or, in adaptive modes, no entry.  Fields
 * that p lacks are those of cl_offer_make: population, name, mode, number 1, slice, entries like o. */
void cl_offer_plan(struct cl_world *w, const struct rd_plan *p, struct cl_offer *o);
/* The same, of a mode. */
void cl_offer_mode(struct cl_world *w, const char *mode, struct cl_offer *o);
/* Encode and sign what o->d holds now. */
void cl_offer_sign(struct cl_world *w, struct cl_offer *o);
void cl_offer_free(struct cl_offer *o);

/* Learn the plan of this hash; false when the world does not have it. */
bool cl_world_learn(struct cl_world *w, const uint8_t hash[PR_HASH_LEN]);
/* Call cl_judge for the offer at CL_WORLD_NOW.  A plan that it needs is learnt first if the world has it;
 * otherwise it is absent. */
enum cm_rc cl_world_judge(
	struct cl_world *w, const struct cl_offer *o, struct cl_judgement *j, struct cm_err *err);
/* A whole file of the state directory; *n 0 and NULL when there is none.  Free it. */
uint8_t *cl_world_file(const struct cl_world *w, const char *name, size_t *n);
/* In the mutant build: run what follows with the named check removed; "" puts all back. */
void cl_world_mutant(const char *name);
