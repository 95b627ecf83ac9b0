/* cl_cell_root.c - builds the root folder that programs see. */
#define _GNU_SOURCE /* declares MNT_DETACH and mount_setattr */
#include "cl_cell_root.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACE     "/tmp" /* the root is built here, because every host has this folder */
#define PLACE_MAX (sizeof PLACE + CL_SCRIPT_MAX)

const char *const cl_cell_readable[] = { "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64",
	"/usr/local/lib", "/etc/ld.so.cache", NULL };

/* Libraries may be links to links in these folders.  The links may be followed, but the folders not
 * read. */
static const char *const followed[] = { "/etc/alternatives", "/dev/null", NULL };

void cl_cell_interpreter(int program, char out[CL_SCRIPT_MAX])
{
	ssize_t n = pread(program, out, CL_SCRIPT_MAX - 1, 0);
	char *from = out + 2;

	out[n > 0 ? n : 0] = '\0';
	if (n < 2 || memcmp(out, "#!", 2) != 0) {
		out[0] = '\0';
		return;
	}
	from += strspn(from, " \t");
	from[strcspn(from, " \t\r\n")] = '\0';
	memmove(out, from, strlen(from) + 1);
}

/* Mount the host's file or folder at the same path below PLACE.  Returns true also if the host has none. */
static bool show(const char *path)
{
	char at[PLACE_MAX];
	struct stat st;
	int fd;

	if (stat(path, &st) != 0)
		return true;
	if (path[0] != '/' || snprintf(at, sizeof at, PLACE "%s", path) >= (int)sizeof at)
		return false;
	/* Create the folders above it.  Some may exist already; mount fails if one is missing. */
	for (char *end = at + strlen(PLACE) + 1; (end = strchr(end, '/')) != NULL; *end++ = '/') {
		*end = '\0';
		(void)mkdir(at, 0755);
	}
	if (S_ISDIR(st.st_mode)) {
		(void)mkdir(at, 0755);
	} else {
		fd = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
		if (fd >= 0)
			(void)close(fd);
	}
	return mount(path, at, NULL, MS_BIND | MS_REC, NULL) == 0;
}

/* Copy the script: its interpreter opens it by a path, and this root has no paths for descriptors. */
static bool put_script(int program, size_t which)
{
	char at[sizeof PLACE + sizeof CL_SCRIPT_AT + 24], bytes[4096];
	ssize_t got = 0;
	off_t from = 0;
	int fd;

	(void)mkdir(PLACE CL_SCRIPTS, 0755);
	(void)snprintf(at, sizeof at, PLACE CL_SCRIPT_AT, which);
	fd = open(at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	while (fd >= 0 && (got = pread(program, bytes, sizeof bytes, from)) > 0 &&
		write(fd, bytes, (size_t)got) == got)
		from += got;
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0 && got == 0;
}

static bool show_all(const int *program, size_t n)
{
	char interpreter[CL_SCRIPT_MAX];
	bool ok = true;

	for (size_t i = 0; ok && cl_cell_readable[i]; i++)
		ok = show(cl_cell_readable[i]);
	for (size_t i = 0; ok && followed[i]; i++)
		ok = show(followed[i]);
	for (size_t i = 0; ok && i < n; i++) {
		cl_cell_interpreter(program[i], interpreter);
		/* An interpreter below PLACE is hidden by now. Fail here, because without it no device
		 * would have an answer. */
		ok = interpreter[0] == '\0' ||
		     (access(interpreter, F_OK) == 0 && show(interpreter) && put_script(program[i], i));
	}
	return ok;
}

/* Enter the new root.  The old root is then mounted on top of it, and is unmounted. */
static bool enter(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };

	return mount_setattr(AT_FDCWD, PLACE, AT_RECURSIVE, &attr, sizeof attr) == 0 && chdir(PLACE) == 0 &&
	       syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

bool cl_cell_root(const int *program, size_t n)
{
	mode_t mask;
	bool ok;

	/* No size limit is needed: scripts have at most CL_PROGRAM_MAX bytes each, and only what is written
	 * uses memory. */
	if (mount("tmpfs", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0)
		return false;
	mask = umask(022); /* the user who runs programs is not the one who creates this */
	ok = show_all(program, n) && enter();
	(void)umask(mask);
	if (!ok)
		(void)umount2(PLACE, MNT_DETACH);
	return ok;
}
