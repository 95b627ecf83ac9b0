/* cr_pki_issue.c - creates a deployment's directory, and issues certificates (cr_pki.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "cm_file.h"
#include "cr_pki_cert.h"
#include "cr_private_file.h"
#include "cr_sign.h"

#define NAME_LEN 64u

static const struct {
	enum cr_role role;
	/* the party's directory, and the name of its certificate there; NULL: init makes none */
	const char *dir;
	const char *ca;
	const char *sign; /* name of the signing key that init makes for the party */
} parties[] = {
	{ CR_ROLE_CLIENT, "client", "ca-clients", NULL },
	{ CR_ROLE_SHUFFLER, "shuffler", "ca-services", "shuffler-sign" },
	{ CR_ROLE_ANALYZER, "analyzer", "ca-services", "analyzer-sign" },
	{ CR_ROLE_INTAKE, NULL, "ca-services", NULL },
};
#define PARTIES (sizeof parties / sizeof parties[0])

/* The public files that a party needs: where they come from, and their names in its directory. */
static const struct {
	enum cr_role role;
	const char *from_dir, *from, *to;
	bool optional;
} outfits[] = {
	{ CR_ROLE_CLIENT, "ca-services", "ca.crt", "services-ca.crt", false },
	{ CR_ROLE_CLIENT, "ca-services", "ca.crl", "services-ca.crl", true },
	{ CR_ROLE_CLIENT, "ca-services", "analyzer-sign.pub", "analyzer-sign.pub", false },
	{ CR_ROLE_CLIENT, "ca-services", "shuffler-sign.pub", "shuffler-sign.pub", false },
	{ CR_ROLE_SHUFFLER, "ca-services", "ca.crt", "services-ca.crt", false },
	{ CR_ROLE_SHUFFLER, "ca-services", "ca.crl", "services-ca.crl", true },
	{ CR_ROLE_SHUFFLER, "ca-clients", "ca.crt", "clients-ca.crt", false },
	{ CR_ROLE_SHUFFLER, "ca-clients", "ca.crl", "clients-ca.crl", true },
	{ CR_ROLE_SHUFFLER, "ca-services", "analyzer-sign.pub", "analyzer-sign.pub", false },
	{ CR_ROLE_INTAKE, "ca-services", "ca.crt", "services-ca.crt", false },
	{ CR_ROLE_INTAKE, "ca-services", "ca.crl", "services-ca.crl", true },
	{ CR_ROLE_INTAKE, "ca-clients", "ca.crt", "clients-ca.crt", false },
	{ CR_ROLE_INTAKE, "ca-clients", "ca.crl", "clients-ca.crl", true },
	{ CR_ROLE_ANALYZER, "ca-services", "ca.crt", "services-ca.crt", false },
	{ CR_ROLE_ANALYZER, "ca-services", "ca.crl", "services-ca.crl", true },
	{ CR_ROLE_ANALYZER, "ca-services", "shuffler-sign.pub", "shuffler-sign.pub", false },
};

static enum cm_rc no_memory(struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

const char *cr_pki_ca_of(enum cr_role role)
{
	for (size_t i = 0; i < PARTIES; i++)
		if (parties[i].role == role)
			return parties[i].ca;
	return NULL;
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 || errno != ENOENT;
}

/* Make "DIR/SUB" if it is missing.  Returns the path, malloc'd, or NULL with err set. */
static char *make_dir(const char *dir, const char *sub, struct cm_err *err)
{
	char *path = cm_file_join(dir, sub);

	if (!path) {
		(void)no_memory(err);
		return NULL;
	}
	if (cm_file_mkdir(path, err) != CM_OK) {
		free(path);
		return NULL;
	}
	return path;
}

/* Copy one row of the outfit. */
static enum cm_rc copy_in(const char *dir, size_t row, const char *out_dir, struct cm_err *err)
{
	char *from_dir = cm_file_join(dir, outfits[row].from_dir);
	char *from = !from_dir ? NULL : cm_file_join(from_dir, outfits[row].from);
	char *to = cm_file_join(out_dir, outfits[row].to);
	enum cm_rc rc = CM_OK;

	if (!from || !to)
		rc = no_memory(err);
	else if (!exists(to) && (!outfits[row].optional || exists(from)))
		rc = cr_pki_copy(from, to, 0, err);
	free(from_dir);
	free(from);
	free(to);
	return rc;
}

enum cm_rc cr_pki_outfit(const char *dir, const char *out_dir, enum cr_role role, struct cm_err *err)
{
	for (size_t i = 0; i < sizeof outfits / sizeof outfits[0]; i++)
		if (outfits[i].role == role && copy_in(dir, i, out_dir, err) != CM_OK)
			return err->code;
	return CM_OK;
}

enum cm_rc cr_pki_subject_check(const struct cr_pki_subject *s, struct cm_err *err)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t n = strlen(s->name);

	if (n < 1 || n > NAME_LEN || strspn(s->name, first) != n || strchr("._-", s->name[0]))
		return cm_fail(err, CM_EUSAGE,
			"a name is 1 to %u of A-Z a-z 0-9 . _ - and begins with a letter or digit", NAME_LEN);
	if (!cr_pki_ca_of(s->role))
		return cm_fail(err, CM_EUSAGE, "a role is client, shuffler, analyzer or intake");
	if (s->devices < 1 || s->devices > CR_PKI_MAX_DEVICES)
		return cm_fail(err, CM_EUSAGE, "devices: 1 to %u", CR_PKI_MAX_DEVICES);
	if (s->devices != 1 && s->role != CR_ROLE_CLIENT)
		return cm_fail(err, CM_EUSAGE, "only a client speaks for devices");
	if (s->hosts && *s->hosts != '\0' && !cr_role_listens(s->role))
		return cm_fail(err, CM_EUSAGE, "only a shuffler or an intake is dialled and has hosts");
	return CM_OK;
}

/* Refuse a certificate that would outlive its CA: it would stop working before its own date. */
static enum cm_rc check_life(int days, const struct cr_pki_pair *ca, struct cm_err *err)
{
	time_t end = time(NULL) + (time_t)days * 86400;

	if (days < -(int)CR_PKI_DAYS_CA || days > (int)CR_PKI_DAYS_CA)
		return cm_fail(err, CM_EUSAGE, "days: at most %u", CR_PKI_DAYS_CA);
	if (X509_cmp_time(X509_get0_notAfter(ca->cert), &end) < 0)
		return cm_fail(err, CM_EUSAGE, "days: the CA's own certificate expires before that");
	return CM_OK;
}

enum cm_rc cr_pki_ca_load(const char *dir, enum cr_role role, int days, struct cr_pki_pair *ca, char **ca_dir,
	struct cm_err *err)
{
	enum cm_rc rc;

	*ca_dir = cm_file_join(dir, cr_pki_ca_of(role));
	rc = !*ca_dir ? no_memory(err) : cr_pki_pair_load(*ca_dir, "ca", ca, err);
	return rc == CM_OK ? check_life(days, ca, err) : rc;
}

static enum cm_rc issue(
	const char *dir, const char *out_dir, const struct cr_pki_subject *s, struct cm_err *err)
{
	struct cr_pki_pair ca = { 0 }, party = { 0 };
	enum cm_rc rc = cr_pki_subject_check(s, err);
	char *ca_dir = NULL;

	if (rc == CM_OK)
		rc = cr_pki_ca_load(dir, s->role, s->days, &ca, &ca_dir, err);
	if (rc == CM_OK)
		rc = cr_pki_pair_make(s, &ca, &party, err);
	if (rc == CM_OK)
		rc = cm_file_mkdir(out_dir, err);
	if (rc == CM_OK)
		rc = cr_pki_issued_keep(ca_dir, party.cert, err);
	if (rc == CM_OK && (rc = cr_pki_pair_store(&party, out_dir, s->name, err)) != CM_OK)
		cr_pki_issued_forget(ca_dir, party.cert);
	cr_pki_pair_fini(&ca);
	cr_pki_pair_fini(&party);
	free(ca_dir);
	return rc;
}

enum cm_rc cr_pki_issue(const char *dir, const char *out_dir, const char *name, enum cr_role role,
	const char *hosts, uint32_t devices, int days, struct cm_err *err)
{
	const struct cr_pki_subject s = {
		.name = name, .role = role, .hosts = hosts, .devices = devices, .days = days
	};

	return issue(dir, out_dir, &s, err);
}

/* What may be renewed at all, whoever issued it. */
static enum cm_rc check_old(X509 *old, uint32_t devices, struct cr_identity *id, struct cm_err *err)
{
	if (X509_check_ca(old) != 0)
		return cm_fail(err, CM_EUSAGE, "this is a CA's certificate, not a party's");
	if (cr_identity_from_cert(old, id, err) != CM_OK)
		return err->code;
	if (devices != 0 && id->role != CR_ROLE_CLIENT)
		return cm_fail(err, CM_EUSAGE, "a certificate of role %s: only a client speaks for devices",
			cr_role_name(id->role));
	return cr_pki_key_check(X509_get_X509_PUBKEY(old), X509_get0_pubkey(old), err);
}

enum cm_rc cr_pki_renew(const char *dir, const char *cert_path, const char *out_path, uint32_t devices,
	int days, struct cm_err *err)
{
	struct cr_pki_pair ca = { 0 };
	X509 *old = NULL, *renewed = NULL;
	char *ca_dir = NULL;
	struct cr_identity id;
	enum cm_rc rc = cr_pki_cert_load(cert_path, &old, err);

	if (rc != CM_OK)
		return rc;
	rc = check_old(old, devices, &id, err);
	if (rc == CM_OK)
		rc = cr_pki_ca_load(dir, id.role, days, &ca, &ca_dir, err);
	if (rc == CM_OK && !cr_pki_cert_is_of(old, ca.cert))
		rc = cm_fail(err, CM_EPERM, "not issued by %s", ca_dir);
	if (rc == CM_OK)
		rc = cr_pki_list_check(ca_dir, &ca, old, err);
	if (rc == CM_OK)
		rc = cr_pki_cert_renew(old, devices, days, &ca, &renewed, err);
	if (rc == CM_OK)
		rc = cr_pki_issued_keep(ca_dir, renewed, err);
	if (rc == CM_OK && (rc = cr_pki_cert_store(renewed, out_path, err)) != CM_OK)
		cr_pki_issued_forget(ca_dir, renewed);
	ERR_clear_error();
	X509_free(old);
	X509_free(renewed);
	cr_pki_pair_fini(&ca);
	free(ca_dir);
	return rc == CM_OK ? CM_OK : cm_context(err, "%s", cert_path);
}

static enum cm_rc make_ca(const char *dir, const char *sub, const char *name, struct cm_err *err)
{
	const struct cr_pki_subject s = { .name = name, .devices = 1, .days = (int)CR_PKI_DAYS_CA };
	struct cr_pki_pair ca = { 0 };
	char *path = make_dir(dir, sub, err);
	enum cm_rc rc;

	if (!path)
		return err->code;
	rc = cr_pki_pair_make(&s, NULL, &ca, err);
	if (rc == CM_OK)
		rc = cr_pki_pair_store(&ca, path, "ca", err);
	/* From the first day there is a list for verifiers to name, so a later revocation needs no new
	 * setting. */
	if (rc == CM_OK)
		rc = cr_pki_list_start(path, err);
	cr_pki_pair_fini(&ca);
	free(path);
	return rc;
}

/* The private half stays in the party's directory, the public half goes where outfits are made from. */
static enum cm_rc make_sign_key(const char *dir, const char *party_dir, const char *name, struct cm_err *err)
{
	char *ca_dir = cm_file_join(dir, "ca-services");
	char *private_path = cr_private_path(party_dir, name, ".key");
	char *public_path = !ca_dir ? NULL : cr_private_path(ca_dir, name, ".pub");
	enum cm_rc rc = !private_path || !public_path ? no_memory(err)
						      : cr_sign_keygen(private_path, public_path, err);

	free(ca_dir);
	free(private_path);
	free(public_path);
	return rc;
}

static enum cm_rc make_party(
	const char *dir, size_t row, const char *hosts, uint32_t devices, struct cm_err *err)
{
	const struct cr_pki_subject s = {
		.name = parties[row].dir,
		.role = parties[row].role,
		.hosts = parties[row].role == CR_ROLE_SHUFFLER ? hosts : NULL,
		.devices = parties[row].role == CR_ROLE_CLIENT ? devices : 1,
		.days = (int)CR_PKI_DAYS,
	};
	char *path = make_dir(dir, parties[row].dir, err);
	enum cm_rc rc;

	if (!path)
		return err->code;
	rc = issue(dir, path, &s, err);
	if (rc == CM_OK && parties[row].sign)
		rc = make_sign_key(dir, path, parties[row].sign, err);
	free(path);
	return rc;
}

/* Overwrite nothing: a second init would make every certificate of the first useless. */
static enum cm_rc check_fresh(const char *dir, struct cm_err *err)
{
	static const char *const subs[] = { "ca-clients", "ca-services", "client", "shuffler", "analyzer" };

	for (size_t i = 0; i < sizeof subs / sizeof subs[0]; i++) {
		char *path = cm_file_join(dir, subs[i]);
		bool there;

		if (!path)
			return no_memory(err);
		there = exists(path);
		free(path);
		if (there)
			return cm_fail(err, CM_ECREATE, "%s: holds %s already", dir, subs[i]);
	}
	return CM_OK;
}

static enum cm_rc outfit_all(const char *dir, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < PARTIES && parties[i].dir; i++) {
		char *path = cm_file_join(dir, parties[i].dir);

		rc = !path ? no_memory(err) : cr_pki_outfit(dir, path, parties[i].role, err);
		free(path);
	}
	return rc;
}

enum cm_rc cr_pki_init(const char *dir, const char *hosts, uint32_t devices, struct cm_err *err)
{
	const struct cr_pki_subject shuffler = {
		.name = "shuffler", .role = CR_ROLE_SHUFFLER, .hosts = hosts, .devices = 1, .days = 1
	};
	struct cr_pki_pair trial = { 0 };
	enum cm_rc rc;

	if (devices < 1 || devices > CR_PKI_MAX_DEVICES)
		return cm_fail(err, CM_EUSAGE, "devices: 1 to %u", CR_PKI_MAX_DEVICES);
	/* A bad host name must be found before anything is written to disk. */
	rc = cr_pki_pair_make(&shuffler, NULL, &trial, err);
	cr_pki_pair_fini(&trial);
	if (rc == CM_OK)
		rc = cm_file_mkdir(dir, err);
	if (rc == CM_OK)
		rc = check_fresh(dir, err);
	if (rc == CM_OK)
		rc = make_ca(dir, "ca-clients", "tombola clients CA", err);
	if (rc == CM_OK)
		rc = make_ca(dir, "ca-services", "tombola services CA", err);
	for (size_t i = 0; rc == CM_OK && i < PARTIES && parties[i].dir; i++)
		rc = make_party(dir, i, hosts, devices, err);
	return rc == CM_OK ? outfit_all(dir, err) : rc;
}
