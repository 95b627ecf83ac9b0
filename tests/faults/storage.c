/* storage.c - put before a daemon with LD_PRELOAD, fails or ends it at one of its changes to storage.
 *
 * What counts, one by one and over all threads, is what changes files below one folder: creating, writing,
 * truncating, syncing, renaming and unlinking them, whoever of the process's libraries does it.  From the
 * environment:
 *
 *   TOMBOLA_FAULT_DIR     the folder, absolute, without links
 *   TOMBOLA_FAULT_LOG     a line "OPERATION PATH" for each call, written before it is done
 *   TOMBOLA_FAULT_AT      the call that is hit, from 1; 0 or absent: none
 *   TOMBOLA_FAULT_KIND    kill: SIGKILL instead of the call; torn: the same, after half of a write;
 *                         eio: that call fails with EIO; enospc: from that call on whatever needs room fails
 *   TOMBOLA_FAULT_SHADOW  a folder on the same file system, which keeps what is durable: a file's bytes as of
 * its last sync, a folder's names as of its last sync (power.py makes a folder of them) */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH 512

static atomic_ulong calls;

static bool below(const char *path)
{
	const char *dir = getenv("TOMBOLA_FAULT_DIR");
	size_t n = dir ? strlen(dir) : 0;

	return n > 0 && strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* The path of a file or folder that is open, if it is one of ours. */
static bool ours(int fd, char path[PATH])
{
	char link[64];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return false;
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH - 1);
	path[n > 0 ? n : 0] = '\0';
	return below(path);
}

static void say(const char *operation, const char *path)
{
	const char *log = getenv("TOMBOLA_FAULT_LOG");
	char line[PATH + 32];
	int fd, n;

	if (!log)
		return;
	n = snprintf(line, sizeof line, "%s %s\n", operation, path);
	fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || syscall(SYS_write, fd, line, (size_t)n) != n)
		abort();
	(void)close(fd);
}

static void die(void)
{
	(void)kill(getpid(), SIGKILL);
	for (;;)
		(void)pause();
}

/* Count a call.  0: do it; else the errno to fail with.  fd >= 0: of a write of n bytes. */
static int hit(const char *operation, const char *path, bool grows, int fd, const void *bytes, size_t n)
{
	const char *at = getenv("TOMBOLA_FAULT_AT"), *kind = getenv("TOMBOLA_FAULT_KIND");
	unsigned long now = atomic_fetch_add(&calls, 1) + 1, k = at ? strtoul(at, NULL, 10) : 0;

	say(operation, path);
	if (k == 0 || !kind)
		return 0;
	if (now == k && strcmp(kind, "eio") == 0)
		return EIO;
	if (now >= k && grows && strcmp(kind, "enospc") == 0)
		return ENOSPC;
	if (now != k || strcmp(kind, "eio") == 0 || strcmp(kind, "enospc") == 0)
		return 0;
	if (strcmp(kind, "torn") == 0 && fd >= 0)
		(void)!syscall(SYS_write, fd, bytes, n / 2);
	die();
	return 0;
}

static bool fails(int error)
{
	errno = error;
	return error != 0;
}

/* ---- what is durable ---- */

static int shadow_file(const char *kind, ino_t inode, char path[PATH])
{
	const char *shadow = getenv("TOMBOLA_FAULT_SHADOW");
	char temp[PATH + 8];

	(void)snprintf(path, PATH, "%s/%s%ju", shadow, kind, (uintmax_t)inode);
	(void)snprintf(temp, sizeof temp, "%s.new", path);
	return (int)syscall(SYS_openat, AT_FDCWD, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static void shadow_done(int fd, const char *path)
{
	char temp[PATH + 8];

	(void)snprintf(temp, sizeof temp, "%s.new", path);
	(void)close(fd);
	if (syscall(SYS_renameat2, AT_FDCWD, temp, AT_FDCWD, path, 0) != 0)
		abort();
}

static void put(int fd, const char *bytes, size_t n)
{
	if (syscall(SYS_write, fd, bytes, n) != (ssize_t)n)
		abort();
}

static void keep_bytes(const char *path, const struct stat *st)
{
	const char *shadow = getenv("TOMBOLA_FAULT_SHADOW");
	char to[PATH], hold[PATH], bytes[65536];
	int in = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	int out = shadow_file("i", st->st_ino, to);
	ssize_t n;

	if (in < 0 || out < 0)
		abort();
	while ((n = read(in, bytes, sizeof bytes)) > 0)
		put(out, bytes, (size_t)n);
	(void)close(in);
	shadow_done(out, to);
	/* Another name of the file, so that its number is not given to another one. */
	(void)snprintf(hold, sizeof hold, "%s/h%ju", shadow, (uintmax_t)st->st_ino);
	if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, hold, 0) != 0 && errno != EEXIST)
		abort();
}

static void keep_names(const char *path, const struct stat *st)
{
	char to[PATH], line[PATH];
	int out = shadow_file("d", st->st_ino, to);
	DIR *dir = opendir(path);
	const struct dirent *e;

	if (out < 0 || !dir)
		abort();
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
			int n = snprintf(line, sizeof line, "%ju %s\n", (uintmax_t)e->d_ino, e->d_name);
			put(out, line, (size_t)n);
		}
	(void)closedir(dir);
	shadow_done(out, to);
}

static void synced(const char *path)
{
	struct stat st;
	int before = errno;

	if (!getenv("TOMBOLA_FAULT_SHADOW") || stat(path, &st) != 0)
		return; /* an unlinked file, which no name leads to */
	if (S_ISDIR(st.st_mode))
		keep_names(path, &st);
	else
		keep_bytes(path, &st);
	errno = before;
}

/* ---- the calls ---- */

static int do_sync(int fd, const char *operation, long number)
{
	char path[PATH];
	bool mine = ours(fd, path);
	long rc;

	if (mine && fails(hit(operation, path, false, -1, NULL, 0)))
		return -1;
	rc = syscall(number, fd);
	if (mine && rc == 0)
		synced(path);
	return (int)rc;
}

int fsync(int fd)
{
	return do_sync(fd, "fsync", SYS_fsync);
}

int fdatasync(int fd)
{
	return do_sync(fd, "fdatasync", SYS_fdatasync);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
	char path[PATH];

	if (ours(fd, path) && fails(hit("write", path, true, fd, bytes, n)))
		return -1;
	return syscall(SYS_write, fd, bytes, n);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
	char path[PATH];

	if (ours(fd, path)) {
		const char *kind = getenv("TOMBOLA_FAULT_KIND");
		bool torn = kind && strcmp(kind, "torn") == 0;
		/* Write the half through a descriptor of its own, whose position is set to `at`. */
		int half = torn ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC) : -1;

		if (half >= 0)
			(void)lseek(half, at, SEEK_SET);
		int error = hit("pwrite", path, true, half, bytes, n);
		if (half >= 0)
			(void)syscall(SYS_close, half);
		if (fails(error))
			return -1;
	}
	return syscall(SYS_pwrite64, fd, bytes, n, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	return pwrite64(fd, bytes, n, at);
}

int ftruncate64(int fd, off64_t len)
{
	char path[PATH];

	if (ours(fd, path) && fails(hit("ftruncate", path, false, -1, NULL, 0)))
		return -1;
	return (int)syscall(SYS_ftruncate, fd, len);
}

int ftruncate(int fd, off_t len)
{
	return ftruncate64(fd, len);
}

int rename(const char *from, const char *to)
{
	if (below(to) && fails(hit("rename", to, false, -1, NULL, 0)))
		return -1;
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
	if (below(path) && fails(hit("unlink", path, false, -1, NULL, 0)))
		return -1;
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int link(const char *from, const char *to)
{
	if (below(to) && fails(hit("link", to, true, -1, NULL, 0)))
		return -1;
	return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int mkdir(const char *path, mode_t mode)
{
	if (below(path) && access(path, F_OK) != 0 && fails(hit("mkdir", path, true, -1, NULL, 0)))
		return -1;
	return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (flags & O_CREAT) {
		va_list list;

		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
		if (below(path) && access(path, F_OK) != 0 && fails(hit("create", path, true, -1, NULL, 0)))
			return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (flags & O_CREAT) {
		va_list list;

		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
	}
	return open64(path, flags, mode);
}

/* The C library opens it by itself. */
int mkostemp64(char *path, int flags)
{
	int (*real)(char *, int);
	void *found = dlsym(RTLD_NEXT, "mkostemp64");

	memcpy(&real, &found, sizeof real);
	if (below(path) && fails(hit("create", path, true, -1, NULL, 0)))
		return -1;
	return real(path, flags);
}
