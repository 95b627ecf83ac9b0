/* cr_files.h - the files with a date that a party's TLS needs: until when each is valid, and whether they
 * belong together.  Needs libcrypto.
 *
 * A revocation list ends like a certificate: after its next update nobody whom it covers is let in. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"
#include "cr_pki.h"

enum cr_file {
	CR_OWN, /* the party's certificate, with its intermediates */
	CR_SERVICES_CA,
	CR_SERVICES_CRL,
	CR_CLIENTS_CA,
	CR_CLIENTS_CRL,
	CR_FILES
};

/* Paths, borrowed; NULL: the party has no such file. */
struct cr_files {
	const char *path[CR_FILES];
};

/* words for the files, in the order of enum cr_file: "certificate", "services_ca", "services_crl",
 * "clients_ca", "clients_crl" */
extern const char *const cr_file_names[CR_FILES + 1]; /* NULL after the last */
/* The keys that name them in a configuration: "tls.cert", "tls.services_ca"... */
extern const char *const cr_file_keys[CR_FILES];

/* Unix seconds from which and until which a file is valid; INT64_MAX: for ever.  All certificates of a
 * chain must be valid; one of several CAs is enough, and of each CA's lists the newest. */
struct cr_dates {
	int64_t begins, ends;
	char of[65]; /* the name of the part that begins last or ends first, printable ASCII */
};
/* Read a file's dates.  CM_EDATA when it holds nothing of its kind; CM_ENOINPUT and other errors as
 * cr_private_read. */
CM_CHECK enum cm_rc cr_file_dates(
	const struct cr_files *files, enum cr_file which, struct cr_dates *out, struct cm_err *err);
/* CM_EPERM, with a message that names the file, unless it is valid at now_s by these dates. */
CM_CHECK enum cm_rc cr_dates_check(const char *path, enum cr_file which, const struct cr_dates *dates,
	int64_t now_s, struct cm_err *err);
/* The same with the dates that the file has now. CM_OK for a file that the party does not have, or that
 * cannot be read, since other checks report that. */
CM_CHECK enum cm_rc cr_file_check(
	const struct cr_files *files, enum cr_file which, int64_t now_s, struct cm_err *err);
/* CM_ECONFIG when a public key that is pinned as this role's has the file name that `tombola pki` gives to
 * another's: analyzer-sign.pub, shuffler-sign.pub. */
CM_CHECK enum cm_rc cr_pin_check(const char *path, enum cr_role role, struct cm_err *err);
/* Say each fault that cr_file_check finds; and CM_EPERM when the certificate is of another role than `role`
 * (CR_ROLE_NONE: any), or the CAs were exchanged: a service's certificate is by services_ca, a client's is
 * not, and no service's is by clients_ca. */
typedef void cr_files_say_fn(void *user, enum cr_file which, const struct cm_err *why);
void cr_files_check(
	const struct cr_files *files, enum cr_role role, int64_t now_s, cr_files_say_fn *say, void *user);
