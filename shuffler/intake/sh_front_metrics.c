/* sh_front_metrics.c (sh_front.h) - an intake's metrics and status. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sh_front_private.h"

#define STATUS_MAX 256u

enum { CONNECTED, CLIENTS, EPOCH, EVENTS, WAITING, DATABASE_UP };
static const char *const events[] = { "devices_stored", "commits", "epochs", "batches_given_up", NULL };
static const struct cm_metric_row rows[] = {
	[CONNECTED] = CM_GAUGE("tombola_intake_head_connected", "Whether the link to the head is there."),
	[CLIENTS] = CM_GAUGE("tombola_intake_clients", "Clients connected now."),
	[EPOCH] = CM_GAUGE("tombola_intake_epoch", "Epoch of the open round in which reports are taken now."),
	[EVENTS] = { "tombola_intake_events_total", CM_METRIC_COUNTER,
		"Devices whose reports were stored, commits, epochs that began, batches that clients send again.",
		"event", events, NULL },
	[WAITING] = CM_GAUGE("tombola_intake_waiting_bytes", "Bytes of reports that are not durable yet."),
	[DATABASE_UP] = { "tombola_intake_database_up", CM_METRIC_GAUGE,
		"0 when a connection to a database is lost, which ends the intake within seconds, else 1.",
		"number", sh_databases_numbers, NULL },
};

enum cm_rc sh_front_metrics_new(struct sh_front *f, struct cm_err *err)
{
	f->metrics = cm_metrics_new(rows, sizeof rows / sizeof rows[0]);
	f->shared = lk_metrics_new("intake", &f->conf.files, true);
	return f->metrics && f->shared ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

void sh_front_metrics_free(struct sh_front *f)
{
	cm_metrics_free(f->metrics);
	lk_metrics_free(f->shared);
}

void sh_front_counted(struct sh_front *f, enum sh_front_event what, uint64_t n)
{
	cm_metrics_add(f->metrics, EVENTS, what, (double)n);
}

struct lk_metrics *sh_front_shared(struct sh_front *f)
{
	return f->shared;
}

static size_t waiting(const struct sh_front *f)
{
	return f->at == SHARE_OPEN ? sh_intake_bytes(&f->share->intake) : 0;
}

/* The i-th database: first those of the state, then, while a share is open, those that have its data. */
bool sh_front_database(void *of, size_t i, uint32_t *number, bool *up)
{
	const struct sh_front *f = of;
	const struct sh_store *store = f->conf.store;
	size_t states = 0;

	while (store->database(store->ctx, states, number, up))
		if (states++ == i)
			return true;
	return f->at == SHARE_OPEN && store->data_database(f->share->vault.data, i - states, number, up);
}

const char *sh_front_not_ready(struct sh_front *f)
{
	const char *why = sh_gate_not_ready(&f->gate);

	return why || f->head_ready ? why : "the head is away";
}

int sh_front_metrics(struct sh_front *f, struct nt_http_reply *out)
{
	cm_metrics_set(f->metrics, CONNECTED, 0, f->head_ready);
	cm_metrics_set(f->metrics, CLIENTS, 0, (double)sh_gate_count(&f->gate));
	cm_metrics_set(f->metrics, EPOCH, 0, f->at == SHARE_OPEN ? (double)f->share->epoch : 0);
	cm_metrics_set(f->metrics, WAITING, 0, (double)waiting(f));
	sh_databases_set(f->metrics, DATABASE_UP, sh_front_database, f);
	return lk_metrics_reply(f->shared, f->metrics, !sh_front_not_ready(f), sh_gate_count(&f->gate), out);
}

char *sh_front_status(const struct sh_front *f)
{
	char *text = malloc(STATUS_MAX);

	/* All numbers and words are ours, so nothing has to be escaped. */
	int n = !text ? -1
		      : snprintf(text, STATUS_MAX,
				"{\"schema\":\"tombola.intake/1\",\"stopping\":%s,\"head\":%s,\"clients\":%zu,\"round\":%" PRIu64
				",\"epoch\":%" PRIu64 ",\"waiting_bytes\":%zu}",
				f->gate.stopping ? "true" : "false", f->head_ready ? "true" : "false",
				sh_gate_count(&f->gate), f->at == SHARE_OPEN ? f->share->d.sequence : 0,
				f->at == SHARE_OPEN ? f->share->epoch : 0, waiting(f));
	if (n >= 0)
		return text;
	free(text);
	return NULL;
}
