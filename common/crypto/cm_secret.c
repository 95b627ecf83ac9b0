/* cm_secret.c - key bytes that wipe themselves, and the files that hold them. */
#include "cm_secret.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/crypto.h>

#include "cm_file.h"
#include "cm_private_file.h"
#include "cm_rand.h"

void cm_key_fini(struct cm_key *k)
{
	OPENSSL_cleanse(k, sizeof *k);
}

void cm_wipe(void *p, size_t n)
{
	OPENSSL_cleanse(p, n);
}

void cm_wiping_free(void *p)
{
	if (p != NULL)
		cm_wipe(p, malloc_usable_size(p));
	free(p);
}

void *cm_wiping_realloc(void *p, size_t n)
{
	void *moved = malloc(n);
	size_t had = p != NULL ? malloc_usable_size(p) : 0;

	if (moved == NULL)
		return NULL;
	if (had > 0)
		memcpy(moved, p, had < n ? had : n);
	cm_wiping_free(p);
	return moved;
}

bool cm_equal(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}

/* "DIR/NAME.key"; a name that could leave DIR is our bug. */
static char *key_path(const char *dir, const char *name, struct cm_err *err)
{
	char *path;

	if (*name == '\0' || *name == '.' || strchr(name, '/') != NULL) {
		(void)cm_fail(err, CM_EINTERNAL, "not a name for a key file");
		return NULL;
	}
	path = cm_private_path(dir, name, ".key");
	if (path == NULL)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

/* Whoever can write the directory can put a known key in the place of ours. */
static enum cm_rc own_dir(const char *dir, struct cm_err *err)
{
	struct stat st;

	if (cm_file_mkdir(dir, err) != CM_OK)
		return err->code;
	if (stat(dir, &st) != 0)
		return cm_fail(err, CM_ECREATE, "%s: %s", dir, strerror(errno));
	if ((st.st_mode & 022) != 0)
		return cm_fail(
			err, CM_EPERM, "%s: a directory of keys that others may write: chmod 700 it", dir);
	return CM_OK;
}

enum cm_rc cm_keyfile_create(
	const char *dir, const char *name, const struct cm_rng *rng, struct cm_key *out, struct cm_err *err)
{
	char *path = key_path(dir, name, err);
	struct cm_key key;
	enum cm_rc rc;

	if (path == NULL)
		return err->code;
	rng->fill(rng->ctx, key.bytes, sizeof key.bytes);
	rc = own_dir(dir, err);
	if (rc == CM_OK)
		rc = cm_private_create(path, key.bytes, sizeof key.bytes, 0600, err);
	if (rc == CM_OK)
		*out = key;
	cm_key_fini(&key);
	free(path);
	return rc;
}

enum cm_rc cm_keyfile_load(const char *dir, const char *name, struct cm_key *out, struct cm_err *err)
{
	char *path = key_path(dir, name, err);
	struct cm_key key = { 0 };
	enum cm_rc rc;
	size_t n;

	if (path == NULL)
		return err->code;
	rc = cm_private_read(path, 1, key.bytes, sizeof key.bytes, &n, err);
	if (rc == CM_OK && n != sizeof key.bytes)
		rc = cm_fail(err, CM_EDATA, "%s: %zu bytes, not a key", path, n);
	if (rc == CM_OK)
		*out = key;
	cm_key_fini(&key);
	free(path);
	return rc;
}

enum cm_rc cm_keyfile_erase(const char *dir, const char *name, struct cm_err *err)
{
	char *path = key_path(dir, name, err);
	struct stat st;
	enum cm_rc rc;

	if (path == NULL)
		return err->code;
	rc = cm_private_destroy(path, err);
	/* Also when the file is gone already: a crash may have come between the unlink and this. */
	if (rc == CM_OK && stat(dir, &st) == 0)
		rc = cm_file_sync_dir(dir, err);
	free(path);
	return rc;
}
