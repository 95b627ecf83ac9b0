/* an_keys.c - creates, loads and destroys round keys. */
#include "an_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_fault.h"
#include "cm_file.h"

#define NAME_LEN (2 * (size_t)PR_ROUND_ID_LEN)

static enum cm_rc keys_dir(const char *state_dir, char **out, struct cm_err *err)
{
	*out = cm_file_join(state_dir, "keys");
	return *out ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* A random generator that returns the bytes of the key file, so that HPKE derives the key pair from the
 * file alone. */
static void fill_from_key(void *ctx, void *out, size_t n)
{
	const struct cr_key *k = ctx;
	uint8_t *p = out;

	for (size_t i = 0; i < n; i++)
		p[i] = k->bytes[i % CR_KEY_LEN];
}

static enum cm_rc key_pair(const struct cr_key *file, struct cr_key *secret,
	uint8_t public_key[CR_HPKE_PUBLIC_LEN], struct cm_err *err)
{
	struct cr_key copy = *file;
	struct cr_rng rng = { .fill = fill_from_key, .ctx = &copy };
	enum cm_rc rc = cr_hpke_keygen(&rng, secret, public_key, err);

	cr_key_fini(&copy);
	return rc;
}

enum cm_rc an_key_create(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct cr_rng *rng, uint8_t public_key[CR_HPKE_PUBLIC_LEN], struct cm_err *err)
{
	struct cr_key file = { 0 }, secret = { 0 };
	char name[NAME_LEN + 1], *dir = NULL;
	enum cm_rc rc = keys_dir(state_dir, &dir, err);

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	if (rc == CM_OK)
		rc = cm_file_mkdir(dir, err);
	if (rc == CM_OK)
		rc = cr_keyfile_create(dir, name, rng, &file, err);
	if (rc == CM_OK)
		rc = key_pair(&file, &secret, public_key, err);
	cr_key_fini(&file);
	cr_key_fini(&secret);
	free(dir);
	return rc;
}

enum cm_rc an_key_load(
	const char *state_dir, const struct rd_descriptor *d, struct cr_key *out, struct cm_err *err)
{
	uint8_t public_key[CR_HPKE_PUBLIC_LEN] = { 0 };
	struct cr_key file = { 0 };
	char name[NAME_LEN + 1], *dir = NULL;
	enum cm_rc rc = keys_dir(state_dir, &dir, err);

	cm_hex(d->round_id, PR_ROUND_ID_LEN, name);
	if (rc == CM_OK)
		rc = cr_keyfile_load(dir, name, &file, err);
	if (rc == CM_OK)
		rc = key_pair(&file, out, public_key, err);
	if (rc == CM_OK && memcmp(public_key, d->hpke_key, sizeof public_key) != 0) {
		cr_key_fini(out);
		rc = cm_fail(err, CM_EDATA, "%s/%s.key: is not the key of its round's descriptor", dir, name);
	}
	cr_key_fini(&file);
	free(dir);
	return rc;
}

enum cm_rc an_key_check(
	const char *state_dir, const struct rd_descriptor *d, uint32_t number, struct cm_err *err)
{
	struct cr_key secret = { 0 };
	enum cm_rc rc = CM_CHECKED("analyzer.key") ? an_key_load(state_dir, d, &secret, err) : CM_OK;

	cr_key_fini(&secret);
	if (rc == CM_ENOINPUT || rc == CM_EDATA)
		(void)cm_context(err,
			"round %u cannot be opened and is not charged; restore its key, or end it with "
			"`tombola-analyzer round give-up %u`",
			number, number);
	return rc;
}

enum cm_rc an_key_erase(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char name[NAME_LEN + 1], *dir = NULL;
	enum cm_rc rc = keys_dir(state_dir, &dir, err);

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	if (rc == CM_OK)
		rc = cr_keyfile_erase(dir, name, err);
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
	there = path && access(path, F_OK) == 0;
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
	return cr_keyfile_erase(s->dir, name, err);
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
