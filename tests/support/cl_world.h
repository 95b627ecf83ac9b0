/* cl_world.h - a client's state directory in /tmp, signed descriptors of any protocol, and a policy that
 * allows them. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cl_judge.h"
#include "cl_store.h"
#include "round_keys.h"

#define CL_WORLD_NOW 1700000000000 /* ms */

struct cl_world {
	char dir[64];
	struct cl_db *db;
	struct round_keys analyzer, shuffler;
	struct cl_policy policy; /* generous; borrowed strings */
	struct cm_rng rng;       /* the system's */
	struct cm_key hpke;
	uint8_t hpke_public[CM_HPKE_PUBLIC_LEN];
};
void cl_world_make(struct cl_world *w);
void cl_world_free(struct cl_world *w);
/* Close and open the database, as a restarted process does. */
void cl_world_restart(struct cl_world *w);

/* A round, to be changed before it is signed. */
struct cl_offer {
	struct rd_descriptor d; /* query owned by cl_offer_free */
	struct cm_buf bytes;
	uint8_t signature[PR_SIGNATURE_LEN];
};
/* "grr", "bins", "mixbins": three colours; "levels": a number in [0, 10].  Sequence 1, minimum batch 1000. */
void cl_offer_make(struct cl_world *w, const char *protocol, double epsilon0, struct cl_offer *o);
/* The next round after `before`. */
void cl_offer_follow(struct cl_offer *o, const struct cl_offer *before);
/* Encode and sign what o->d holds now. */
void cl_offer_sign(struct cl_world *w, struct cl_offer *o);
void cl_offer_free(struct cl_offer *o);

/* cl_judge over the offer at CL_WORLD_NOW. */
enum cm_rc cl_world_judge(
	struct cl_world *w, const struct cl_offer *o, struct cl_judgement *j, struct cm_err *err);
/* A whole file of the state directory; *n 0 and NULL when there is none.  Free it. */
uint8_t *cl_world_file(const struct cl_world *w, const char *name, size_t *n);
/* In the mutant build: run what follows with the named check removed; "" puts all back. */
void cl_world_mutant(const char *name);
