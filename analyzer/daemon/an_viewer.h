/* an_viewer.h - keeps the dashboard's view of the ledger current, on a thread that shares nothing with the
 * loop. */
#pragma once

#include "an_context.h"
#include "an_view.h"

struct an_viewer;
/* The first view is started at once. */
CM_CHECK enum cm_rc an_viewer_new(struct an_context *context, struct an_viewer **out, struct cm_err *err);
void an_viewer_close(struct an_viewer *v);
void an_viewer_free(struct an_viewer *v);

/* A page was requested: start making a new view if it is missing, and keep it current for a while. */
void an_viewer_want(struct an_viewer *v);
/* The newest finished view; and whether it shows the ledger's last record. */
const struct an_view *an_viewer_view(const struct an_viewer *v);
bool an_viewer_is_current(const struct an_viewer *v);
/* Why the last view could not be made; "". */
const char *an_viewer_fault(const struct an_viewer *v);
