/* cl_program_file.c - reads a program into sealed memory and hashes it. */
#define _GNU_SOURCE /* declares memfd_create */
#include "cl_program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cl_cell_root.h"
#include "cm_fault.h"
#include "cm_file.h"
#include "cm_owned.h"
#include "cr_hash.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* in the kernel since Linux 6.3; older headers lack it */
#endif

static int memory_file(void)
{
	int fd = memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	/* Older kernels do not know the flag, and do not need it. */
	return fd < 0 && errno == EINVAL ? memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

/* Keep no time of the last access, since all processes of a program share the file, and fstat() would tell
 * one when another had read it.  Linux can do so since 6.1. */
static bool keep_no_times(int fd)
{
	int flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
		return false;
	flags |= FS_NOATIME_FL;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

static enum cm_rc seal(
	const char *path, const struct cm_buf *bytes, int *out, bool *timeless, struct cm_err *err)
{
	int fd = memory_file();

	if (fd < 0)
		return cm_fail(err, CM_EUNAVAIL, "%s: no memory file: %s", path, strerror(errno));
	if (!cm_file_put(fd, bytes->data, bytes->len) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
		(void)cm_fail(err, CM_EUNAVAIL, "%s: cannot be sealed in memory: %s", path, strerror(errno));
		(void)close(fd);
		return err->code;
	}
	*timeless = keep_no_times(fd);
	*out = fd;
	return CM_OK;
}

/* Hash the sealed bytes, not those that were read from the file. */
static enum cm_rc check(const char *path, int fd, size_t len, const uint8_t *hash, struct cm_err *err)
{
	void *bytes = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	uint8_t found[CL_PROGRAM_HASH];
	char hex[2 * CL_PROGRAM_HASH + 1];

	if (bytes == MAP_FAILED)
		return cm_fail(err, CM_EINTERNAL, "%s: %s", path, strerror(errno));
	cr_sha256(bytes, len, found);
	(void)munmap(bytes, len);
	cm_hex(found, sizeof found, hex);
	if (CM_CHECKED("client.program.hash") && memcmp(found, hash, sizeof found) != 0)
		return cm_fail(
			err, CM_EDATA, "%s: is sha256 %s, not the program that was agreed to", path, hex);
	return CM_OK;
}

static bool can_run(const struct cm_buf *b)
{
	size_t at = 2;

	if (b->len >= 4 && memcmp(b->data, "\177ELF", 4) == 0)
		return true;
	if (b->len < 4 || memcmp(b->data, "#!", 2) != 0)
		return false;
	while (at < b->len && (b->data[at] == ' ' || b->data[at] == '\t'))
		at++;
	return at < b->len && b->data[at] == '/';
}

/* Without its interpreter a script would answer for no device, round after round. */
static enum cm_rc check_interpreter(const char *path, int fd, struct cm_err *err)
{
	char interpreter[CL_SCRIPT_MAX];

	cl_cell_interpreter(fd, interpreter);
	if (interpreter[0] == '\0' || access(interpreter, F_OK) == 0)
		return CM_OK;
	return cm_fail(err, CM_EDATA, "%s: its first line names %s: %s", path, interpreter, strerror(errno));
}

enum cm_rc cl_program_file_open(
	const char *path, const uint8_t hash[CL_PROGRAM_HASH], int *fd, bool *timeless, struct cm_err *err)
{
	struct cm_buf bytes;
	enum cm_rc rc;

	*fd = -1;
	cm_buf_init(&bytes, CL_PROGRAM_MAX);
	rc = cm_owned_read(path, CL_PROGRAM_MAX, &bytes, err);
	if (rc == CM_OK && !can_run(&bytes))
		rc = cm_fail(err, CM_EDATA,
			"%s: neither an ELF program nor a script whose first line is #! and an absolute path",
			path);
	if (rc == CM_OK)
		rc = seal(path, &bytes, fd, timeless, err);
	if (rc == CM_OK)
		rc = check(path, *fd, bytes.len, hash, err);
	if (rc == CM_OK)
		rc = check_interpreter(path, *fd, err);
	if (rc != CM_OK && *fd >= 0) {
		(void)close(*fd);
		*fd = -1;
	}
	cm_buf_fini(&bytes);
	return rc;
}
