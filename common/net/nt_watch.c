/* nt_watch.c - compares what stat() says of files, when a folder has changed and from time to time. */
#include "nt_watch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cm_file.h"

/* What stat() says of a path.  Two states of the path differ if this differs.  Where no file is reached,
 * all is 0 but `fault`. */
struct stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec written, changed;
	int fault;
};

struct file {
	char *path;
	struct stamp seen;  /* at the last look */
	struct stamp known; /* as it was when the owner was told last */
};

struct folder {
	uv_fs_event_t event;
	char *path;
};

struct nt_watch {
	struct nt_watch_conf conf;
	uv_timer_t poll, settle;
	struct file *file;
	struct folder *folder; /* one for each file; path NULL: another file's is the same */
	size_t n;
	size_t open_handles;
};

static struct stamp stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return (struct stamp){ .fault = errno };
	return (struct stamp){ .dev = st.st_dev,
		.ino = st.st_ino,
		.size = st.st_size,
		.written = st.st_mtim,
		.changed = st.st_ctim };
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct stamp *a, const struct stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->fault == b->fault &&
	       same_time(&a->written, &b->written) && same_time(&a->changed, &b->changed);
}

/* Looks at every file.  *moved: one is not as it was at the last look; *news: one is not as the owner knows
 * it. */
static void look(struct nt_watch *w, bool *moved, bool *news)
{
	*moved = *news = false;
	for (size_t i = 0; i < w->n; i++) {
		struct stamp now = stamp_of(w->file[i].path);

		*moved = *moved || !same(&now, &w->file[i].seen);
		*news = *news || !same(&now, &w->file[i].known);
		w->file[i].seen = now;
	}
}

static void on_settle(uv_timer_t *t);

static void begin_settling(struct nt_watch *w)
{
	if (!uv_is_active((uv_handle_t *)&w->settle))
		(void)uv_timer_start(&w->settle, on_settle, w->conf.settle_ms, 0);
}

static void on_settle(uv_timer_t *t)
{
	struct nt_watch *w = t->data;
	bool moved, news;

	look(w, &moved, &news);
	if (moved)
		begin_settling(w);
	if (moved || !news)
		return;
	for (size_t i = 0; i < w->n; i++)
		w->file[i].known = w->file[i].seen;
	w->conf.on_change(w->conf.user);
}

static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
	(void)name;
	(void)events;
	(void)status;
	begin_settling(event->data);
}

/* Ask the kernel for notices again, since the notices of a folder that was moved or replaced have ended
 * silently.  Where the kernel gives none, the next look finds what has changed. */
static void listen_again(struct nt_watch *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->folder[i].path) {
			(void)uv_fs_event_stop(&w->folder[i].event);
			(void)uv_fs_event_start(&w->folder[i].event, on_event, w->folder[i].path, 0);
		}
}

static void on_poll(uv_timer_t *t)
{
	struct nt_watch *w = t->data;
	bool moved, news;

	listen_again(w);
	look(w, &moved, &news);
	if (news)
		begin_settling(w);
}

static void watch_free(struct nt_watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		free(w->file[i].path);
		free(w->folder[i].path);
	}
	free(w->file);
	free(w->folder);
	free(w);
}

static void on_closed(uv_handle_t *h)
{
	struct nt_watch *w = h->data;

	if (--w->open_handles == 0)
		watch_free(w);
}

/* The folder of file i, unless an earlier file has the same. */
static enum cm_rc add_folder(struct nt_watch *w, uv_loop_t *loop, size_t i, struct cm_err *err)
{
	struct folder *f = &w->folder[i];

	f->path = cm_file_folder(w->file[i].path);
	if (!f->path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t j = 0; j < i; j++)
		if (w->folder[j].path && strcmp(w->folder[j].path, f->path) == 0) {
			free(f->path);
			f->path = NULL;
			return CM_OK;
		}
	(void)uv_fs_event_init(loop, &f->event); /* cannot fail */
	f->event.data = w;
	uv_unref((uv_handle_t *)&f->event);
	w->open_handles++;
	return CM_OK;
}

static bool at_or_after(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec >= b->tv_nsec;
}

static enum cm_rc add_file(struct nt_watch *w, uv_loop_t *loop, const char *path, struct cm_err *err)
{
	struct file *f = &w->file[w->n];

	f->path = strdup(path);
	if (!f->path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	f->seen = stamp_of(path);
	if (!at_or_after(&f->seen.changed, &w->conf.since))
		f->known = f->seen;
	w->n++;
	return add_folder(w, loop, w->n - 1, err);
}

static void start(struct nt_watch *w)
{
	listen_again(w);
	begin_settling(w); /* for what has changed since conf.since */
	(void)uv_timer_start(&w->poll, on_poll, w->conf.poll_ms, w->conf.poll_ms);
}

enum cm_rc nt_watch_new(
	uv_loop_t *loop, const struct nt_watch_conf *conf, struct nt_watch **out, struct cm_err *err)
{
	struct nt_watch *w = calloc(1, sizeof *w);
	enum cm_rc rc = CM_OK;

	*out = NULL;
	if (!w)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	w->conf = *conf;
	(void)uv_timer_init(loop, &w->poll); /* cannot fail */
	(void)uv_timer_init(loop, &w->settle);
	w->poll.data = w->settle.data = w;
	uv_unref((uv_handle_t *)&w->poll);
	uv_unref((uv_handle_t *)&w->settle);
	w->open_handles = 2;
	w->file = calloc(conf->n + 1, sizeof *w->file);
	w->folder = calloc(conf->n + 1, sizeof *w->folder);
	if (!w->file || !w->folder)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < conf->n; i++)
		if (conf->path[i])
			rc = add_file(w, loop, conf->path[i], err);
	if (rc != CM_OK) {
		nt_watch_close(w);
		return rc;
	}
	start(w);
	*out = w;
	return CM_OK;
}

void nt_watch_close(struct nt_watch *w)
{
	if (!w)
		return;
	uv_close((uv_handle_t *)&w->poll, on_closed);
	uv_close((uv_handle_t *)&w->settle, on_closed);
	for (size_t i = 0; i < w->n; i++)
		if (w->folder[i].path)
			uv_close((uv_handle_t *)&w->folder[i].event, on_closed);
}
