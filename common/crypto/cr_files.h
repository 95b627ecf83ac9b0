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

/* "certificate", "services_ca", "services_crl", "clients_ca", "clients_crl". */
extern const char *const cr_file_names[CR_FILES + 1]; /* ends with NULL */

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
/* Report each fault that cr_file_check finds.  Reports CM_EPERM when the CAs were exchanged: a service's
 * certificate must be issued by services_ca, a client's must not. */
typedef void cr_files_say_fn(void *user, const struct cm_err *why);
void cr_files_check(const struct cr_files *files, int64_t now_s, cr_files_say_fn *say, void *user);
