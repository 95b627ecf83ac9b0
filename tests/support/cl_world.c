/* cl_world.c - a client's surroundings for tests. */
#include "cl_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_file.h"
#include "queries.h"

static struct cm_err err;

void cl_world_make(struct cl_world *w)
{
	static char population[] = "test";

	memset(w, 0, sizeof *w);
	(void)snprintf(w->dir, sizeof w->dir, "/tmp/tombola-client-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(cl_db_open(w->dir, population, &w->db, &err), CM_OK);
	round_keys_make(&w->analyzer);
	round_keys_make(&w->shuffler);
	assert_int_equal(cm_rng_system(&w->rng, &err), CM_OK);
	assert_int_equal(cm_hpke_keygen(&w->rng, &w->hpke, w->hpke_public, &err), CM_OK);
	w->policy = (struct cl_policy){ .population = population,
		.accept_adaptive = true,
		.max_epsilon0 = INFINITY,
		.max_epsilon = 100,
		.delta = 1e-6,
		.min_batch = 1,
		.honest_fraction = 1,
		.window_ms = 86400000 };
}

void cl_world_restart(struct cl_world *w)
{
	cl_db_close(w->db);
	assert_int_equal(cl_db_open(w->dir, "test", &w->db, &err), CM_OK);
}

void cl_world_free(struct cl_world *w)
{
	char command[128];

	cl_db_close(w->db);
	round_keys_free(&w->analyzer);
	round_keys_free(&w->shuffler);
	(void)snprintf(command, sizeof command, "rm -rf %s", w->dir);
	assert_int_equal(system(command), 0);
}

void cl_offer_make(struct cl_world *w, const char *protocol, double epsilon0, struct cl_offer *o)
{
	static char red[] = "red", green[] = "green", blue[] = "blue", *colours[] = { red, green, blue };
	struct pt_request request = { .epsilon0 = epsilon0, .min_batch = 1000 };
	struct rd_descriptor *d = &o->d;

	memset(o, 0, sizeof *o);
	cm_buf_init(&o->bytes, PR_DESCRIPTOR_MAX);
	d->protocol = pt_find(protocol);
	assert_non_null(d->protocol);
	(void)snprintf(d->population, sizeof d->population, "test");
	w->rng.fill(w->rng.ctx, d->round_id, sizeof d->round_id);
	d->sequence = 1;
	d->query = query_of_row(d->protocol);
	if (d->query.kind == PT_HISTOGRAM) {
		d->query.category = colours;
		d->query.categories = 3;
	}
	/* Rows of bins want dummies, and some of them can do without. */
	if (strstr(protocol, "bins") != NULL)
		request.dummies = 3;
	if (d->protocol->derive(&d->query, &request, &d->params, &err) != CM_OK)
		assert_int_equal(query_derive(d->protocol, &d->query, epsilon0, &d->params, &err), CM_OK);
	d->messages_per_client = d->protocol->messages(&d->params);
	d->record_len = d->protocol->record_len(&d->params);
	d->min_batch = 1000;
	d->target_batch = 2000;
	d->honest_fraction = 1;
	d->opens_ms = CL_WORLD_NOW - 1000;
	d->deadline_ms = CL_WORLD_NOW + 60000;
	d->suite = CM_HPKE_AES128GCM;
	memcpy(d->hpke_key, w->hpke_public, sizeof d->hpke_key);
	d->privacy = (struct rd_privacy){ d->protocol->epsilon0(&d->params), 0.1, 0.1, 100, 1e-6 };
	(void)snprintf(d->unit, sizeof d->unit, "device");
	(void)snprintf(d->mode, sizeof d->mode, "plan");
	d->ledger_seq = 1;
	memset(d->ledger_head, 1, sizeof d->ledger_head);
	cl_offer_sign(w, o);
	/* The query was borrowed: from here on it is the descriptor's own. */
	assert_int_equal(rd_descriptor_decode(o->bytes.data, o->bytes.len, d, &err), CM_OK);
}

void cl_offer_follow(struct cl_offer *o, const struct cl_offer *before)
{
	o->d.sequence = before->d.sequence + 1;
	o->d.ledger_seq = before->d.ledger_seq + 3;
	memcpy(o->d.previous, before->d.hash, sizeof o->d.previous);
}

void cl_offer_sign(struct cl_world *w, struct cl_offer *o)
{
	o->bytes.len = 0;
	assert_int_equal(rd_descriptor_encode(&o->d, &o->bytes, &err), CM_OK);
	cm_sha256(o->bytes.data, o->bytes.len, o->d.hash);
	assert_int_equal(cm_sign(w->analyzer.signer, RD_PURPOSE_DESCRIPTOR, o->bytes.data, o->bytes.len,
				 o->signature, &err),
		CM_OK);
}

void cl_offer_free(struct cl_offer *o)
{
	rd_descriptor_fini(&o->d);
	cm_buf_fini(&o->bytes);
}

enum cm_rc cl_world_judge(
	struct cl_world *w, const struct cl_offer *o, struct cl_judgement *j, struct cm_err *e)
{
	return cl_judge(w->db, &w->policy, w->analyzer.verifier, o->bytes.data, o->bytes.len, o->signature,
		sizeof o->signature, CL_WORLD_NOW, j, e);
}

uint8_t *cl_world_file(const struct cl_world *w, const char *name, size_t *n)
{
	char path[128];
	struct cm_buf b;

	(void)snprintf(path, sizeof path, "%s/%s", w->dir, name);
	cm_buf_init(&b, 1u << 28);
	*n = 0;
	if (cm_file_read(path, 1u << 28, &b, &err) != CM_OK)
		return NULL;
	*n = b.len;
	return b.data;
}

void cl_world_mutant(const char *name)
{
	static char outside[256];
	static bool known;

	/* What the caller of the test program removed stays removed, so that the test shows it. */
	if (!known && getenv("TOMBOLA_MUTANT") != NULL)
		(void)snprintf(outside, sizeof outside, "%s", getenv("TOMBOLA_MUTANT"));
	known = true;
	assert_int_equal(setenv("TOMBOLA_MUTANT", *name != '\0' ? name : outside, 1), 0);
}
