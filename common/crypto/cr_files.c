/* cr_files.c - reads the dates of certificates, CAs and revocation lists from their files. */
#include "cr_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include "cm_clock.h"
#include "cm_fault.h"
#include "cr_pem.h"
#include "cr_pki_cert.h"
#include "cr_private_file.h"

const char *const cr_file_names[CR_FILES + 1] = { "certificate", "services_ca", "services_crl", "clients_ca",
	"clients_crl", NULL };
const char *const cr_file_keys[CR_FILES] = { "tls.cert", "tls.services_ca", "tls.services_crl",
	"tls.clients_ca", "tls.clients_crl" };

static bool is_list(enum cr_file which)
{
	return which == CR_SERVICES_CRL || which == CR_CLIENTS_CRL;
}

static bool is_ca(enum cr_file which)
{
	return which == CR_SERVICES_CA || which == CR_CLIENTS_CA;
}

static int64_t seconds(const ASN1_TIME *t, int64_t without)
{
	struct tm tm;

	return t && ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : without;
}

/* Read the file's blocks; NULL at the end.  The caller frees them. */
static STACK_OF(X509_INFO) * read_all(const char *path, struct cm_err *err)
{
	uint8_t *pem = malloc(CR_PKI_FILE_MAX);
	STACK_OF(X509_INFO) *all = NULL;
	BIO *bio = NULL;
	size_t n;

	if (!pem)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	else if (cr_private_read(path, CR_ANYBODYS, pem, CR_PKI_FILE_MAX, &n, err) == CM_OK &&
		 (!(bio = BIO_new_mem_buf(pem, (int)n)) ||
			 !(all = PEM_X509_INFO_read_bio(bio, NULL, cr_pem_no_password, NULL))))
		(void)cm_fail(err, CM_EDATA, "%s: cannot be read as PEM", path);
	ERR_clear_error();
	BIO_free(bio);
	free(pem);
	return all;
}

static void free_all(STACK_OF(X509_INFO) * all)
{
	sk_X509_INFO_pop_free(all, X509_INFO_free);
}

/* The dates of a block of the file; false if the block is of another kind. */
static bool dates_of(const X509_INFO *block, enum cr_file which, struct cr_dates *d, X509_NAME **name)
{
	if (is_list(which)) {
		if (!block->crl)
			return false;
		*name = X509_CRL_get_issuer(block->crl);
		d->begins = seconds(X509_CRL_get0_lastUpdate(block->crl), 0);
		d->ends = seconds(X509_CRL_get0_nextUpdate(block->crl), INT64_MAX);
	} else {
		if (!block->x509)
			return false;
		*name = X509_get_subject_name(block->x509);
		d->begins = seconds(X509_get0_notBefore(block->x509), 0);
		d->ends = seconds(X509_get0_notAfter(block->x509), INT64_MAX);
	}
	if (X509_NAME_get_text_by_NID(*name, NID_commonName, d->of, sizeof d->of) < 0)
		(void)snprintf(d->of, sizeof d->of, "(no name)");
	for (char *c = d->of; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '"')
			*c = '?';
	return true;
}

/* Does another block of the file, of the same CA, end later? */
static bool outlived(
	STACK_OF(X509_INFO) * all, int at, enum cr_file which, const struct cr_dates *d, X509_NAME *name)
{
	struct cr_dates other;
	X509_NAME *others;

	for (int i = 0; which != CR_OWN && i < sk_X509_INFO_num(all); i++)
		if (i != at && dates_of(sk_X509_INFO_value(all, i), which, &other, &others) &&
			(is_ca(which) || X509_NAME_cmp(name, others) == 0) && other.ends > d->ends)
			return true;
	return false;
}

enum cm_rc cr_file_dates(
	const struct cr_files *files, enum cr_file which, struct cr_dates *out, struct cm_err *err)
{
	const char *path = files->path[which];
	STACK_OF(X509_INFO) *all = read_all(path, err);
	struct cr_dates d;
	X509_NAME *name;
	bool some = false;

	if (!all)
		return err->code;
	*out = (struct cr_dates){ .ends = INT64_MAX };
	for (int i = 0; i < sk_X509_INFO_num(all); i++) {
		if (!dates_of(sk_X509_INFO_value(all, i), which, &d, &name) ||
			outlived(all, i, which, &d, name))
			continue;
		if (!some || d.ends < out->ends || (d.ends == out->ends && d.begins > out->begins))
			memcpy(out->of, d.of, sizeof out->of);
		out->begins = d.begins > out->begins ? d.begins : out->begins;
		out->ends = d.ends < out->ends ? d.ends : out->ends;
		some = true;
	}
	free_all(all);
	return some ? CM_OK
		    : cm_fail(err, CM_EDATA, "%s: holds no %s", path,
			      is_list(which) ? "revocation list" : "certificate");
}

enum cm_rc cr_dates_check(
	const char *path, enum cr_file which, const struct cr_dates *dates, int64_t now_s, struct cm_err *err)
{
	const char *what = is_list(which) ? "the revocation list of" : is_ca(which) ? "CA" : "certificate";
	char when[32];

	if (now_s >= dates->ends && CM_CHECKED("pki.dates")) {
		cm_clock_text(dates->ends * 1000, when);
		return cm_fail(err, CM_EPERM, "%s: %s \"%s\" expired at %s%s", path, what, dates->of, when,
			is_list(which)
				? ", so that nobody whom it covers is let in: put a new one there, and reload"
			: is_ca(which) ? ", so that nobody whom it vouches for is let in"
				       : ", so that no peer accepts it: renew it, and reload");
	}
	if (now_s < dates->begins) {
		cm_clock_text(dates->begins * 1000, when);
		return cm_fail(err, CM_EPERM, "%s: %s \"%s\" is not valid before %s: check the clock", path,
			what, dates->of, when);
	}
	return CM_OK;
}

enum cm_rc cr_file_check(const struct cr_files *files, enum cr_file which, int64_t now_s, struct cm_err *err)
{
	const char *path = files->path[which];
	struct cm_err unread;
	struct cr_dates dates;

	return path && cr_file_dates(files, which, &dates, &unread) == CM_OK
		       ? cr_dates_check(path, which, &dates, now_s, err)
		       : CM_OK;
}

/* Does a certificate of the file `ca` sign the chain?  Dates are not looked at. */
static bool vouches(STACK_OF(X509_INFO) * ca, STACK_OF(X509_INFO) * chain)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	STACK_OF(X509) *between = sk_X509_new_null();
	X509 *own = NULL;
	bool good;

	for (int i = 0; store && i < sk_X509_INFO_num(ca); i++)
		if (sk_X509_INFO_value(ca, i)->x509)
			(void)X509_STORE_add_cert(store, sk_X509_INFO_value(ca, i)->x509);
	for (int i = 0; between && i < sk_X509_INFO_num(chain); i++) {
		X509 *cert = sk_X509_INFO_value(chain, i)->x509;

		if (cert && !own)
			own = cert;
		else if (cert)
			(void)sk_X509_push(between, cert);
	}
	good = store && ctx && between && own && X509_STORE_CTX_init(ctx, store, own, between) == 1 &&
	       X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(ctx), X509_V_FLAG_NO_CHECK_TIME) == 1 &&
	       X509_verify_cert(ctx) == 1;
	sk_X509_free(between);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	ERR_clear_error();
	return good;
}

/* Whether the CAs of a file made the certificate of another; false when one cannot be read. */
static bool made(const char *ca_path, const char *path)
{
	struct cm_err unread;
	STACK_OF(X509_INFO) *ca = ca_path ? read_all(ca_path, &unread) : NULL,
			    *chain = read_all(path, &unread);
	bool good = ca && chain && vouches(ca, chain);

	free_all(ca);
	free_all(chain);
	return good;
}

/* A service's certificate is by the CA of the services alone. */
static void match_service(const struct cr_files *files, cr_files_say_fn *say, void *user)
{
	const char *own = files->path[CR_OWN], *services = files->path[CR_SERVICES_CA],
		   *clients = files->path[CR_CLIENTS_CA];
	struct cr_dates dates;
	struct cm_err why;
	bool by_clients = made(clients, own);

	if (cr_file_dates(files, CR_SERVICES_CA, &dates, &why) != CM_OK)
		return; /* other checks say that it cannot be read */
	if (!made(services, own)) {
		(void)cm_fail(&why, CM_EPERM,
			by_clients
				? "%s: this CA did not make our certificate (tls.cert), and that of clients_ca "
				  "did: exchange the two"
				: "%s: this CA did not make our certificate (tls.cert): is it the clients' CA in "
				  "the place of the services'?",
			services);
		say(user, CR_SERVICES_CA, &why);
	} else if (by_clients) {
		(void)cm_fail(&why, CM_EPERM,
			"%s: this CA made our certificate (tls.cert), so it is the services' CA, not the "
			"clients': bring clients-ca.crt",
			clients);
		say(user, CR_CLIENTS_CA, &why);
	}
}

/* Whether the certificate is of the party's role, and by the CA of its own. */
static void match(const struct cr_files *files, enum cr_role role, cr_files_say_fn *say, void *user)
{
	const char *own = files->path[CR_OWN], *services = files->path[CR_SERVICES_CA];
	struct cr_pki_info info;
	struct cm_err why;

	if (!own || cr_pki_show(own, &info, &why) != CM_OK)
		return;
	if (role != CR_ROLE_NONE && info.identity.role != role) {
		(void)cm_fail(&why, CM_EPERM,
			"%s: a certificate of role %s; must be %s: `tombola pki issue --role %s` makes one",
			own, info.is_ca ? "CA" : cr_role_name(info.identity.role), cr_role_name(role),
			cr_role_name(role));
		say(user, CR_OWN, &why);
	}
	if (!services || info.identity.role == CR_ROLE_NONE)
		return;
	if (info.identity.role != CR_ROLE_CLIENT) {
		match_service(files, say, user);
	} else if (made(services, own)) {
		(void)cm_fail(&why, CM_EPERM,
			"%s: this CA made our certificate (tls.cert), so it is the clients' CA, not the services': "
			"bring services-ca.crt",
			services);
		say(user, CR_SERVICES_CA, &why);
	}
}

void cr_files_check(
	const struct cr_files *files, enum cr_role role, int64_t now_s, cr_files_say_fn *say, void *user)
{
	struct cm_err why;

	for (unsigned i = 0; i < CR_FILES; i++)
		if (cr_file_check(files, (enum cr_file)i, now_s, &why) != CM_OK)
			say(user, (enum cr_file)i, &why);
	match(files, role, say, user);
}

enum cm_rc cr_pin_check(const char *path, enum cr_role role, struct cm_err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *other = role == CR_ROLE_ANALYZER ? "shuffler" : "analyzer";
	size_t n = strlen(other);

	if (strncmp(name, other, n) != 0 || strcmp(name + n, "-sign.pub") != 0)
		return CM_OK;
	return cm_fail(err, CM_ECONFIG, "%s: by its name this is the key of the %s; %s-sign.pub belongs here",
		path, other, cr_role_name(role));
}
