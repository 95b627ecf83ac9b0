/* an_keys.c - creates, loads and destroys round keys. */
#include "an_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_file.h"

#define NAME_LEN (2 * (size_t)PR_ROUND_ID_LEN)

static enum cm_rc keys_dir(const char *state_dir, char **out, struct cm_err *err)
{
	*out = cm_file_join(state_dir, "keys");
	return *out != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* A generator that gives the key file's bytes: HPKE's key pair is then a function of the file. */
static void fill_from_key(void *ctx, void *out, size_t n)
{
	const struct cm_key *k = ctx;
	uint8_t *p = out;

	for (size_t i = 0; i < n; i++)
		p[i] = k->bytes[i % CM_KEY_LEN];
}

static enum cm_rc key_pair(const struct cm_key *file, struct cm_key *secret,
	uint8_t public_key[CM_HPKE_PUBLIC_LEN], struct cm_err *err)
{
	struct cm_key copy = *file;
	struct cm_rng rng = { .fill = fill_from_key, .ctx = &copy };
	enum cm_rc rc = cm_hpke_keygen(&rng, secret, public_key, err);

	cm_key_fini(&copy);
	return rc;
}

enum cm_rc an_key_create(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct cm_rng *rng, uint8_t public_key[CM_HPKE_PUBLIC_LEN], struct cm_err *err)
{
	struct cm_key file = { 0 }, secret = { 0 };
	char name[NAME_LEN + 1], *dir = NULL;
	enum cm_rc rc = keys_dir(state_dir, &dir, err);

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	if (rc == CM_OK)
		rc = cm_file_mkdir(dir, err);
	if (rc == CM_OK)
		rc = cm_keyfile_create(dir, name, rng, &file, err);
	if (rc == CM_OK)
		rc = key_pair(&file, &secret, public_key, err);
	cm_key_fini(&file);
	cm_key_fini(&secret);
	free(dir);
	return rc;
}

enum cm_rc an_key_load(
	const char *state_dir, const struct rd_descriptor *d, struct cm_key *out, struct cm_err *err)
{
	uint8_t public_key[CM_HPKE_PUBLIC_LEN] = { 0 };
	struct cm_key file = { 0 };
	char name[NAME_LEN + 1], *dir = NULL;
	enum cm_rc rc = keys_dir(state_dir, &dir, err);

	cm_hex(d->round_id, PR_ROUND_ID_LEN, name);
	if (rc == CM_OK)
		rc = cm_keyfile_load(dir, name, &file, err);
	if (rc == CM_OK)
		rc = key_pair(&file, out, public_key, err);
	if (rc == CM_OK && memcmp(public_key, d->hpke_key, sizeof public_key) != 0) {
		cm_key_fini(out);
		rc = cm_fail(err, CM_EDATA, "%s/%s.key: is not the key of its round's descriptor", dir, name);
	}
	cm_key_fini(&file);
	free(dir);
	return rc;
}

enum cm_rc an_key_erase(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char name[NAME_LEN + 1], *dir = NULL;
	enum cm_rc rc = keys_dir(state_dir, &dir, err);

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	if (rc == CM_OK)
		rc = cm_keyfile_erase(dir, name, err);
	free(dir);
	return rc;
}

bool an_key_exists(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	char name[NAME_LEN + 16], hex[NAME_LEN + 1], *path;
	bool there;

	cm_hex(round_id, PR_ROUND_ID_LEN, hex);
	(void)snprintf(name, sizeof name, "keys/%s.key", hex);
	path = cm_file_join(state_dir, name);
	there = path != NULL && access(path, F_OK) == 0;
	free(path);
	return there;
}

struct sweep {
	const char *dir;
	bool (*known)(void *user, const uint8_t round_id[PR_ROUND_ID_LEN]);
	void *user;
};

static enum cm_rc sweep_one(void *user, const char *file, struct cm_err *err)
{
	const struct sweep *s = user;
	uint8_t id[PR_ROUND_ID_LEN];
	char name[NAME_LEN + 1];

	if (strlen(file) != NAME_LEN + 4 || strcmp(file + NAME_LEN, ".key") != 0)
		return CM_OK;
	memcpy(name, file, NAME_LEN);
	name[NAME_LEN] = '\0';
	if (cm_unhex(name, id, PR_ROUND_ID_LEN) != CM_OK || s->known(s->user, id))
		return CM_OK;
	return cm_keyfile_erase(s->dir, name, err);
}

enum cm_rc an_keys_sweep(const char *state_dir,
	bool (*known)(void *user, const uint8_t round_id[PR_ROUND_ID_LEN]), void *user, struct cm_err *err)
{
	char *dir = NULL;
	enum cm_rc rc = keys_dir(state_dir, &dir, err);
	struct sweep s = { .known = known, .user = user };

	if (rc != CM_OK)
		return rc;
	s.dir = dir;
	rc = cm_file_each(dir, sweep_one, &s, err);
	free(dir);
	return rc;
}
