/* an_dashboard_thread.h - keeps the dashboard's view of the ledger current, on a thread that shares nothing
 * with the loop. */
#pragma once

#include "an_context.h"
#include "an_dashboard.h"

struct an_dashboard_thread;
/* Starts making the first view at once. */
CM_CHECK enum cm_rc an_dashboard_thread_new(
	struct an_context *context, struct an_dashboard_thread **out, struct cm_err *err);
void an_dashboard_thread_close(struct an_dashboard_thread *v);
void an_dashboard_thread_free(struct an_dashboard_thread *v);

/* A page was requested: start making a new view if it is missing, and keep it current for a while. */
void an_dashboard_thread_want(struct an_dashboard_thread *v);
/* The newest finished view; an_dashboard_thread_is_current tells whether it shows the ledger's last
 * record. */
const struct an_dashboard *an_dashboard_thread_view(const struct an_dashboard_thread *v);
bool an_dashboard_thread_is_current(const struct an_dashboard_thread *v);
/* Why the last view could not be made; empty if it was made. */
const char *an_dashboard_thread_fault(const struct an_dashboard_thread *v);
