/* cr_secret.c - keys that are wiped when freed, and key files. */
#include "cr_secret.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/crypto.h>

#include "cm_file.h"
#include "cr_private_file.h"
#include "cr_rand.h"

void cr_key_fini(struct cr_key *k)
{
	explicit_bzero(k, sizeof *k);
}

/* OPENSSL_cleanse is not used: it writes eight bytes at a time, which takes longer. */
void cr_wipe(void *p, size_t n)
{
	explicit_bzero(p, n);
}

/* X25519 in lanes and lib25519 use less stack than this, which test_x25519_secret checks. */
__attribute__((noinline)) void cr_wipe_stack(void)
{
	uint8_t stack[64512];

	explicit_bzero(stack, sizeof stack);
}

void cr_wiping_free(void *p)
{
	if (p)
		cr_wipe(p, malloc_usable_size(p));
	free(p);
}

void *cr_wiping_realloc(void *p, size_t n)
{
	void *moved = malloc(n);
	size_t had = p ? malloc_usable_size(p) : 0;

	if (!moved)
		return NULL;
	if (had > 0)
		memcpy(moved, p, had < n ? had : n);
	cr_wiping_free(p);
	return moved;
}

bool cr_equal(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}

/* The path "DIR/NAME.key"; a name that leads out of DIR is a bug of this program. */
static char *key_path(const char *dir, const char *name, struct cm_err *err)
{
	char *path;

	if (*name == '\0' || *name == '.' || strchr(name, '/')) {
		(void)cm_fail(err, CM_EINTERNAL, "not a name for a key file");
		return NULL;
	}
	path = cr_private_path(dir, name, ".key");
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

/* Check that only we can write to the directory: others could replace our key by one they know. */
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

enum cm_rc cr_keyfile_create(
	const char *dir, const char *name, const struct cr_rng *rng, struct cr_key *out, struct cm_err *err)
{
	char *path = key_path(dir, name, err);
	struct cr_key key;
	enum cm_rc rc;

	if (!path)
		return err->code;
	rng->fill(rng->ctx, key.bytes, sizeof key.bytes);
	rc = own_dir(dir, err);
	if (rc == CM_OK)
		rc = cr_private_create(path, key.bytes, sizeof key.bytes, 0600, err);
	if (rc == CM_OK)
		*out = key;
	cr_key_fini(&key);
	free(path);
	return rc;
}

enum cm_rc cr_keyfile_load(const char *dir, const char *name, struct cr_key *out, struct cm_err *err)
{
	char *path = key_path(dir, name, err);
	struct cr_key key = { 0 };
	enum cm_rc rc;
	size_t n;

	if (!path)
		return err->code;
	rc = cr_private_read(path, CR_SECRET, key.bytes, sizeof key.bytes, &n, err);
	if (rc == CM_OK && n != sizeof key.bytes)
		rc = cm_fail(err, CM_EDATA, "%s: %zu bytes, not a key", path, n);
	if (rc == CM_OK)
		*out = key;
	cr_key_fini(&key);
	free(path);
	return rc;
}

enum cm_rc cr_keyfile_erase(const char *dir, const char *name, struct cm_err *err)
{
	char *path = key_path(dir, name, err);
	struct stat st;
	enum cm_rc rc;

	if (!path)
		return err->code;
	rc = cr_private_destroy(path, err);
	/* Sync even if the file does not exist: a crash may have come between the unlink and this sync. */
	if (rc == CM_OK && stat(dir, &st) == 0)
		rc = cm_file_sync_dir(dir, err);
	free(path);
	return rc;
}
