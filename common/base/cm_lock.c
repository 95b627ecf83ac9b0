/* cm_lock.c - locks a state folder for one process of one party. */
#define _GNU_SOURCE /* declares program_invocation_short_name */
#include "cm_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_file.h"
#include "cm_owned.h"

#define PARTY_MAX 24u /* most bytes of a party's name */

/* Read "name (process 12)", as the holder wrote it. */
static void read_holder(int fd, char out[96])
{
	ssize_t got = pread(fd, out, 95, 0);
	size_t n = got > 0 ? (size_t)got : 0;

	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	for (char *c = out; *c != '\0'; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	if (out[0] == '\0')
		(void)snprintf(out, 96, "process");
}

/* Read the second line of a lock: the party that used the folder last.  "": none, or it is not known. */
static void read_party(int fd, char out[PARTY_MAX])
{
	char text[96] = "";
	const char *at = pread(fd, text, sizeof text - 1, 0) > 0 ? strchr(text, '\n') : NULL;

	(void)snprintf(out, PARTY_MAX, "%s", at ? at + 1 : "");
	out[strcspn(out, "\n")] = '\0';
}

/* Refuse a folder of another party: each of the two would take the other's keys and marker for its own. */
static enum cm_rc check_party(int fd, const char *dir, const char *party, struct cm_err *err)
{
	char last[PARTY_MAX];

	read_party(fd, last);
	if (!party || last[0] == '\0' || strcmp(last, party) == 0)
		return CM_OK;
	return cm_fail(err, CM_ECONFIG,
		"%s: is the state folder of the %s: each party needs its own state_dir", dir, last);
}

enum cm_rc cm_lock_check(const char *dir, const char *party, struct cm_err *err)
{
	char *path = cm_file_join(dir, "lock");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	enum cm_rc rc = path ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (fd >= 0) {
		rc = check_party(fd, dir, party, err);
		(void)close(fd);
	}
	free(path);
	return rc;
}

/* Lock the file and its folder: if somebody removed the file, the next process would lock a new one.  Not
 * every file system can lock folders.  The descriptors stay open. */
static bool lock_both(int fd, const char *dir)
{
	int folder;

	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return false;
	folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return true;
	(void)close(folder);
	errno = EWOULDBLOCK;
	return false;
}

/* The folder that this process locked last.  A child has the memory of its parent, and not its lock. */
static struct {
	pid_t process;
	dev_t dev;
	ino_t ino;
} held;

static bool is_held(const struct stat *dir)
{
	return held.process == getpid() && held.dev == dir->st_dev && held.ino == dir->st_ino;
}

enum cm_rc cm_lock_take(const char *dir, const char *party, struct cm_err *err)
{
	char *path = cm_file_join(dir, "lock"), holder[96];
	enum cm_rc rc = CM_OK;
	struct stat st = { 0 };
	int fd, n;

	if (!path)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", dir);
	if (cm_owned_state(dir, err) != CM_OK) {
		free(path);
		return err->code;
	}
	if (stat(dir, &st) == 0 && is_held(&st))
		goto out;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		rc = cm_file_fail(err, CM_ECREATE, path, "cannot create");
		goto out;
	}
	if (!lock_both(fd, dir)) {
		if (errno == EWOULDBLOCK) {
			read_holder(fd, holder);
			rc = cm_fail(err, CM_ELATER, "another %s has %s", holder, dir);
		} else {
			rc = cm_file_fail(err, CM_EIO, path, "cannot lock");
		}
		(void)close(fd);
		goto out;
	}
	rc = check_party(fd, dir, party, err);
	if (rc != CM_OK)
		goto out;
	/* The name is only for the error message of the next process; the lock works without it.  fd stays
	 * open. */
	n = snprintf(holder, sizeof holder, "%.40s (process %ld)\n%s%s", program_invocation_short_name,
		(long)getpid(), party ? party : "", party ? "\n" : "");
	if (n > 0 && (ftruncate(fd, 0) != 0 || pwrite(fd, holder, (size_t)n, 0) != n))
		(void)!ftruncate(fd, 0); /* an empty name is better than half a name */
	held.process = getpid();
	held.dev = st.st_dev;
	held.ino = st.st_ino;
out:
	free(path);
	return rc;
}
