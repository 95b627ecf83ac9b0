/* cr_private_many.c - creates many files and waits for the disk only once. */
#define _GNU_SOURCE /* declares mkostemp and syncfs */
#include "cr_private_many.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_file.h"

struct entry {
	char *path, *temp, *folder;
	bool linked;
};

struct cr_private_many {
	struct entry *entry;
	size_t n, room;
};

static enum cm_rc no_memory(struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

struct cr_private_many *cr_private_many_new(void)
{
	return calloc(1, sizeof(struct cr_private_many));
}

static void entry_fini(struct entry *e)
{
	free(e->path);
	free(e->temp);
	free(e->folder);
}

static bool grow(struct cr_private_many *m)
{
	size_t room = m->room * 2 + 16;
	struct entry *more = m->n < m->room ? m->entry : realloc(m->entry, room * sizeof *more);

	if (!more)
		return false;
	if (m->n == m->room)
		m->room = room;
	m->entry = more;
	return true;
}

enum cm_rc cr_private_many_add(struct cr_private_many *m, const char *path, const void *bytes, size_t n,
	unsigned mode, struct cm_err *err)
{
	struct entry e = { strdup(path), cm_file_temp(path), cm_file_folder(path), false };
	bool good = false;
	int fd;

	if (!e.path || !e.temp || !e.folder || !grow(m)) {
		entry_fini(&e);
		return no_memory(err);
	}
	fd = mkostemp(e.temp, O_CLOEXEC);
	/* fchmod sets the mode, so that the umask does not decide who may read. */
	if (fd >= 0)
		good = cm_file_put(fd, bytes, n) && fchmod(fd, (mode_t)mode) == 0;
	if (fd >= 0 && close(fd) != 0)
		good = false;
	if (good) {
		m->entry[m->n++] = e;
		return CM_OK;
	}
	(void)cm_fail(err, CM_ECREATE, "%s: cannot write: %s", path, strerror(errno));
	if (fd >= 0)
		(void)unlink(e.temp);
	entry_fini(&e);
	return err->code;
}

/* Call `sync` once for each folder; entries of one folder follow each other. */
static enum cm_rc each_folder(const struct cr_private_many *m,
	enum cm_rc (*sync)(const char *folder, struct cm_err *err), struct cm_err *err)
{
	for (size_t i = 0; i < m->n; i++)
		if ((i == 0 || strcmp(m->entry[i].folder, m->entry[i - 1].folder) != 0) &&
			sync(m->entry[i].folder, err) != CM_OK)
			return err->code;
	return CM_OK;
}

/* Wait until the contents of all files on the folder's file system are durable. */
static enum cm_rc sync_contents(const char *folder, struct cm_err *err)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good = fd >= 0 && syncfs(fd) == 0;

	if (!good)
		(void)cm_fail(err, CM_ECREATE, "%s: cannot write: %s", folder, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return good ? CM_OK : err->code;
}

/* Give each file its own name.  The contents are already durable, so no name ever stands for half a
 * file. */
static enum cm_rc link_all(struct cr_private_many *m, struct cm_err *err)
{
	for (size_t i = 0; i < m->n; i++) {
		if (link(m->entry[i].temp, m->entry[i].path) != 0)
			return cm_fail(
				err, CM_ECREATE, "%s: cannot create: %s", m->entry[i].path, strerror(errno));
		m->entry[i].linked = true;
		(void)unlink(m->entry[i].temp);
		free(m->entry[i].temp);
		m->entry[i].temp = NULL;
	}
	return CM_OK;
}

enum cm_rc cr_private_many_commit(struct cr_private_many *m, struct cm_err *err)
{
	enum cm_rc rc = each_folder(m, sync_contents, err);

	if (rc == CM_OK)
		rc = link_all(m, err);
	if (rc == CM_OK)
		rc = each_folder(m, cm_file_sync_dir, err);
	if (rc != CM_OK)
		cr_private_many_undo(m);
	return rc;
}

void cr_private_many_undo(struct cr_private_many *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->entry[i].linked) {
			(void)unlink(m->entry[i].path);
			m->entry[i].linked = false;
		}
}

void cr_private_many_free(struct cr_private_many *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		if (m->entry[i].temp)
			(void)unlink(m->entry[i].temp);
		entry_fini(&m->entry[i]);
	}
	free(m->entry);
	free(m);
}
