/* nt_watch.h - notices that files were replaced or written over, whoever did it and however: in place, by
 * rename, or by another target of a symbolic link in their path (as Kubernetes swaps ..data).
 *
 * The kernel's notice of a change in a file's folder is used where it comes; a slow look at all files finds
 * the rest (a link further up, a network file system, a kernel that has no notices left).  A change is
 * reported once, after the files have stayed as they are for settle_ms, so that a file that is being
 * written, or a pair that is being replaced, is mostly whole by then.  Whether it is whole the owner finds
 * out by reading it. */
#pragma once

#include <time.h>

#include <uv.h>

#include "cm_rc.h"

struct nt_watch;
struct nt_watch_conf {
	const char *const *path; /* NULL among them: skipped; copied */
	size_t n;
	uint64_t settle_ms; /* for how long the files stay as they are before a change is reported */
	uint64_t poll_ms;   /* between two looks */
	/* By CLOCK_REALTIME_COARSE, as file systems tell time.  A change from then on is reported, too. */
	struct timespec since;
	void (*on_change)(void *user);
	void *user;
};
/* The watch does not keep the loop alive.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc nt_watch_new(
	uv_loop_t *loop, const struct nt_watch_conf *conf, struct nt_watch **out, struct cm_err *err);
/* No call after this; it is freed once the loop has closed its handles.  NULL is fine. */
void nt_watch_close(struct nt_watch *w);
