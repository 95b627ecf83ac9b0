/* an_copy.c - asks the shuffler what it has seen of the ledger before anything is judged or written. */
#include "an_copy.h"

#include <stdlib.h>

#include "an_witness.h"

struct an_copy {
	struct an_copy_conf conf;
	bool asks, whole;
};

enum cm_rc an_copy_new(const struct an_copy_conf *conf, struct an_copy **out, struct cm_err *err)
{
	struct an_copy *c = calloc(1, sizeof *c);

	if (!c)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = c;
	c->conf = *conf;
	return CM_OK;
}

void an_copy_free(struct an_copy *c)
{
	free(c);
}

void an_copy_connected(struct an_copy *c)
{
	Tombola__V1__GetWitness get = TOMBOLA__V1__GET_WITNESS__INIT;

	if (!c->asks)
		return;
	/* protobuf-c's types are not const; nothing is written */
	get.population = (char *)c->conf.context->files.plan.population;
	an_link_send(c->conf.link, PR_FRAME(GET_WITNESS, get_witness, &get));
}

static void go_on(struct an_copy *c)
{
	c->asks = false;
	c->whole = true;
	c->conf.on_whole(c->conf.user);
}

static void on_witness(struct an_copy *c, const Tombola__V1__Witness *w)
{
	const struct an_ledger *ours = c->conf.context->files.ledger;
	struct rd_chain seen;
	struct cm_err err = { 0 };

	if (an_witness_seen(ours, w, &seen, &err) == CM_OK && an_witness_stated(ours, w, &err) == CM_OK)
		go_on(c);
	else
		c->conf.on_end(c->conf.user, &err);
}

/* As with a round, a refusal that may pass is followed by another request, and a final one ends the run. */
static void on_error(struct an_copy *c, const Tombola__V1__Error *e)
{
	struct cm_err err = { 0 };

	if (e->code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND) {
		/* The shuffler serves another population: the question about its policy will report
		 * that. */
		go_on(c);
		return;
	}
	(void)pr_error(e, &err);
	if (err.code == CM_EUNAVAIL || err.code == CM_ELATER)
		an_link_drop(c->conf.link, &err);
	else
		c->conf.on_end(c->conf.user, &err);
}

bool an_copy_frame(struct an_copy *c, const Tombola__V1__Frame *frame)
{
	if (!c->asks)
		return false;
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_WITNESS)
		on_witness(c, frame->witness);
	else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR)
		on_error(c, frame->error);
	else
		an_link_drop(c->conf.link, &(struct cm_err){ .code = CM_EPROTO,
						   .msg = "the shuffler answers another question" });
	return true;
}

void an_copy_begin(struct an_copy *c)
{
	if (c->whole) {
		c->conf.on_whole(c->conf.user);
		return;
	}
	c->asks = true;
	if (an_link_ready(c->conf.link))
		an_copy_connected(c);
	else
		an_link_want(c->conf.link);
}

bool an_copy_asks(const struct an_copy *c)
{
	return c->asks;
}

bool an_copy_whole(const struct an_copy *c)
{
	return c->whole;
}
