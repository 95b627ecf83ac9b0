/* sh_sealed.c - marks of sealed rounds: empty files. */
#include "sh_sealed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cm_file.h"

#define ENDING ".sealed"
#define HEX    ((size_t)2 * PR_ROUND_ID_LEN)

static char *mark_of(const char *key_dir, const uint8_t *round_id, struct cm_err *err)
{
	char name[HEX + sizeof ENDING];

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	memcpy(name + HEX, ENDING, sizeof ENDING);
	char *path = cm_file_join(key_dir, name);
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

enum cm_rc sh_sealed_mark(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, err);

	if (!path)
		return err->code;
	enum cm_rc rc = cm_file_write(path, "", 0, 0600, err);
	free(path);
	return rc;
}

enum cm_rc sh_sealed_check(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, err);
	struct stat st;

	if (!path)
		return err->code;
	bool there = stat(path, &st) == 0;
	enum cm_rc rc = CM_OK;
	if (!there && errno != ENOENT)
		rc = cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	else if (there)
		rc = cm_fail(err, CM_EDATA,
			"it was sealed, and the state has it as open: the state is an older copy, or its database "
			"lost commits");
	free(path);
	return rc;
}

enum cm_rc sh_sealed_forget(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, err);

	if (!path)
		return err->code;
	enum cm_rc rc = unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR
				? CM_OK
				: cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	free(path);
	return rc;
}
