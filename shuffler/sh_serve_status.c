/* sh_serve_status.c - how the shuffler is: for /status, and in a line for the service manager. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "cm_noted.h"
#include "sh_serve_private.h"

static const char *state_name(const struct sh_round *r)
{
	static const char *const name[] = { "", "COLLECTING", "SEALED", "RELEASING", "ERASED", "VOID" };

	return name[r->state];
}

char *sh_serve_status(struct sh_serve *s)
{
	const struct sh_core *core = s->conf.core;
	struct rd_chain head = sh_core_witness(core);
	json_t *rounds = json_array();
	double spent = 0, share = 0;
	struct cm_err err = { 0 };
	const struct sh_round *r;
	size_t links = 0;

	for (size_t i = 0; (r = sh_core_round(core, i)) != NULL; i++)
		(void)json_array_append_new(rounds,
			json_pack("{s:I,s:s,s:s,s:I,s:I,s:I,s:I}", "round", (json_int_t)r->d.sequence,
				"query", r->d.query.name, "state", state_name(r), "participants",
				(json_int_t)r->intake.participants, "min_batch", (json_int_t)r->d.min_batch,
				"target_batch", (json_int_t)r->d.target_batch, "deadline_ms",
				(json_int_t)r->d.deadline_ms));
	for (const struct peer *p = s->peers; p; p = p->next)
		links += p->link != NULL;
	bool known = sh_core_spent(core, &spent, &err) == CM_OK && sh_core_share(core, &share, &err) == CM_OK;
	int64_t sealed_ms = sh_metrics_last_sealed_ms(s->conf.metrics);
	json_t *root = json_pack("{s:s,s:b,s:I,s:o,s:I,s:I,s:s,s:o,s:o,s:f,s:o}", "schema",
		"tombola.shuffler/1", "stopping", s->stopping, "started_ms", (json_int_t)s->started_ms,
		"last_sealed_ms", sealed_ms > 0 ? json_integer((json_int_t)sealed_ms) : json_null(),
		"connections", (json_int_t)links, "ledger_seq", (json_int_t)head.seq, "mode",
		sh_core_mode(core), "share_spent", known ? json_real(share) : json_null(), "epsilon_spent",
		known ? json_real(spent) : json_null(), "epsilon_limit", sh_core_limit(core), "rounds",
		rounds);
	char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	json_decref(root);
	if (cm_noted_failure()) { /* jansson may have left something out */
		free(text);
		return NULL;
	}
	return text;
}

/* Submissions of the collecting round that a crash would still lose. */
static uint64_t not_durable(const struct sh_serve *s, const struct sh_round *r)
{
	uint64_t n = r ? sh_batch_submissions(&r->intake.gathering) : 0;

	if (r && s->task_under_way && s->task.kind == SH_TASK_COMMIT)
		n += sh_batch_submissions(&s->task.batch);
	return n;
}

int sh_serve_metrics(struct sh_serve *s, struct cm_http_reply *out)
{
	const struct sh_round *r = sh_core_collecting(s->conf.core);
	struct sh_metrics_now now = { .core = s->conf.core,
		.not_durable = not_durable(s, r),
		.waiting_bytes = r ? sh_intake_bytes(&r->intake) : 0,
		.paused = s->paused,
		.ready = !s->stopping };

	for (const struct peer *p = s->peers; p; p = p->next)
		if (p->link)
			*(p->who.role == CM_ROLE_CLIENT ? &now.clients : &now.analyzers) += 1;
	return sh_metrics_reply(s->conf.metrics, &now, out);
}

/* What is spent, in words; composed again only when the ledger has grown. */
static void spent_text(struct sh_serve *s, char *text, size_t room)
{
	const struct sh_core *core = s->conf.core;
	uint64_t seq = sh_core_witness(core).seq;
	struct cm_err err;

	if (s->spent_text[0] == '\0' || s->spent_seq != seq) {
		double share = 0;

		s->spent_seq = seq;
		/* Rounded up: never less than there is. */
		if (sh_core_share(core, &share, &err) == CM_OK)
			(void)snprintf(s->spent_text, sizeof s->spent_text, "%.2f %% of epsilon %g spent",
				ceil(1e4 * share) / 1e2, sh_core_limit(core));
		else
			(void)snprintf(s->spent_text, sizeof s->spent_text, "what is spent is not known");
	}
	(void)snprintf(text, room, "%s", s->spent_text);
}

void sh_serve_say(struct sh_serve *s, char *text, size_t room)
{
	const struct sh_round *r = NULL, *last = NULL;
	char spent[sizeof s->spent_text];

	spent_text(s, spent, sizeof spent);
	for (size_t i = 0; (r = sh_core_round(s->conf.core, i)) != NULL; i++)
		last = r;
	if (last == NULL)
		(void)snprintf(text, room, "no round under way; %s", spent);
	else
		(void)snprintf(text, room,
			"round %" PRIu64 " (%s) %s, %" PRIu64 " of %" PRIu64 " participants; %s",
			last->d.sequence, last->d.query.name, state_name(last),
			(uint64_t)last->intake.participants,
			(uint64_t)(last->d.target_batch > 0 ? last->d.target_batch : last->d.min_batch),
			spent);
}
