/* cr_pki.h - the private PKI of a deployment: two CAs, one certificate per party.  Needs libcrypto.
 *
 * The CA that enrols clients is not the analyzer's (else it could enrol n-1 fakes), so there are two:
 * `clients` signs role client only, `services` signs shuffler, analyzer and intake.  Keys are P-256.  A
 * certificate names its role as SAN URI:tombola:role:ROLE and, for a client that is a gateway,
 * URI:tombola:devices:N. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cm_rc.h"

#include <openssl/x509.h>

enum cr_role {
	CR_ROLE_NONE = 0,
	CR_ROLE_CLIENT,
	CR_ROLE_SHUFFLER,
	CR_ROLE_ANALYZER,
	CR_ROLE_INTAKE, /* takes clients' reports beside a shuffler: it listens and dials */
};

#define CR_PKI_DAYS        90u
#define CR_PKI_DAYS_CA     3650u
#define CR_PKI_MAX_DEVICES 10000000u

const char *cr_role_name(enum cr_role role);
/* Do clients dial this role?  If so, its certificate has hosts. */
bool cr_role_listens(enum cr_role role);
/* CR_ROLE_NONE for an unknown name. */
enum cr_role cr_role_parse(const char *name);

/* The facts about the holder in a verified peer certificate. */
struct cr_identity {
	enum cr_role role;
	uint32_t devices;     /* number of devices it may speak for; 1 unless the certificate gives one */
	uint8_t key_hash[32]; /* SHA-256 of its SubjectPublicKeyInfo: the participant's identity */
	char name[65];        /* subject CN, printable ASCII, for logs about the connection only */
};

/* Read an identity off a certificate.  CM_EPERM unless it has exactly one tombola:role, a known one, and a
 * well-formed device count.  Does not verify the chain. */
CM_CHECK enum cm_rc cr_identity_from_cert(X509 *cert, struct cr_identity *out, struct cm_err *err);

/* A deployment's directory (0700, like all below it; keys 0600, everything fsynced):
 *
 *	ca-clients/   ca.crt ca.key ca.crl issued/ (signs role client only)
 *	ca-services/  ca.crt ca.key ca.crl issued/ analyzer-sign.pub shuffler-sign.pub
 *	client/       client.crt client.key services-ca.crt analyzer-sign.pub shuffler-sign.pub
 *	shuffler/     shuffler.crt shuffler.key shuffler-sign.key services-ca.crt clients-ca.crt
 *	              analyzer-sign.pub
 *	analyzer/     analyzer.crt analyzer.key analyzer-sign.key services-ca.crt shuffler-sign.pub
 *
 * Beside every copy of a CA certificate is its revocation list: services-ca.crl, clients-ca.crl.
 * issued/SERIAL.crt is a copy of each certificate that the CA issued, so that revoking one certificate can
 * also revoke the others for the same key.  A party's directory holds what that party needs and nothing
 * else; the directories of the CAs stay where certificates are issued.  CAs have pathlen 0, keyCertSign and
 * cRLSign.  Parties have digitalSignature, and the extended key usage clientAuth for client and analyzer
 * (both dial), serverAuth for the shuffler, and both for an intake.  Serials are 128 random bits,
 * signatures use SHA-256.
 *
 * X.509 cannot say "this CA may only certify role client" (name constraints do not reach these URIs):
 * whoever verifies a peer must check that its chain ends in the CA of its role. */

/* Make the directory and the two signing key pairs.  `hosts`: comma-separated DNS names or addresses of the
 * shuffler, NULL or "" for localhost,127.0.0.1,::1.  devices: those of the client, 1..CR_PKI_MAX_DEVICES.
 * CM_ECREATE if DIR holds any of it, CM_EUSAGE for a bad host or count. */
CM_CHECK enum cm_rc cr_pki_init(const char *dir, const char *hosts, uint32_t devices, struct cm_err *err);
/* Issue NAME.crt and NAME.key in out_dir (made if missing) for a role under DIR's proper CA.  NAME: 1..64
 * of A-Z a-z 0-9 . _ -, beginning with a letter or digit.  hosts as above, for a shuffler or an intake
 * only.  Only a client may have devices other than 1.  not_after = now + days; days may be negative for an
 * already expired certificate in tests.  CM_EUSAGE for a bad argument, CM_ECREATE when a file exists. */
CM_CHECK enum cm_rc cr_pki_issue(const char *dir, const char *out_dir, const char *name, enum cr_role role,
	const char *hosts, uint32_t devices, int days, struct cm_err *err);
/* Issue the certificate of cert_path once more, for the same key and by the same CA of DIR, into the new file
 * out_path (durable, whole or not at all): subject, role, devices, hosts and usage are the old one's bytes,
 * serial and dates are new.  devices: 0, or the number of a client's devices from now on.  No private key but
 * the CA's is needed.  The old one may have expired; it is left as it is, and stays valid beside the new one
 * until one of the two is revoked. CM_EPERM unless the CA of its role signed it, its list does not have it,
 * and its key is one that cr_pki_signer_sign would certify; CM_EUSAGE for a CA's own, for bad days, or for
 * devices of another role; CM_ECREATE when out_path exists. */
CM_CHECK enum cm_rc cr_pki_renew(const char *dir, const char *cert_path, const char *out_path,
	uint32_t devices, int days, struct cm_err *err);
/* Make NAME.key and a request for its certificate, NAME.csr, in out_dir (made if missing), where the party
 * is: the key never leaves it.  For a shuffler or an analyzer also SHUFFLER-sign.key and .pub, in lower case,
 * unless they are there.  CM_EUSAGE for a bad name or role, CM_ECREATE when a file exists. */
CM_CHECK enum cm_rc cr_pki_request(
	const char *out_dir, const char *name, enum cr_role role, struct cm_err *err);

/* Certifies keys by their requests.  The signer decides what the certificates say: role, hosts, devices and
 * days are as for cr_pki_issue, the same for all requests of one signer.  Reads the CA's key and all
 * records of DIR once (30 us each).  Use one at a time in a DIR: two would not see each other's keys. */
struct cr_pki_signer;
CM_CHECK enum cm_rc cr_pki_signer_new(const char *dir, enum cr_role role, const char *hosts, uint32_t devices,
	int days, struct cr_pki_signer **out, struct cm_err *err);
/* Make a certificate for the key of a request, for the file out_dir/NAME.crt.  CM_EPERM when the request is
 * not signed by its own key, its key is not P-256 or has a certificate of DIR already (a revoked one, too),
 * or it asks for another role or number of devices; CM_EDATA when the file is no request; CM_ECREATE when
 * NAME.crt exists.  A refusal leaves the signer as it was. */
CM_CHECK enum cm_rc cr_pki_signer_sign(struct cr_pki_signer *s, const char *request_path, const char *name,
	const char *out_dir, struct cm_err *err);
/* Record the certificates made since the last call, as cr_pki_issue does, and write their files: all of
 * them or none, durable before it returns. */
CM_CHECK enum cm_rc cr_pki_signer_hand_out(struct cr_pki_signer *s, struct cm_err *err);
void cr_pki_signer_free(struct cr_pki_signer *s);

/* Copy to out_dir the public files of the table above that a party of this role needs (CA certificates,
 * their revocation lists if any, signature keys), except those that exist there already. */
CM_CHECK enum cm_rc cr_pki_outfit(
	const char *dir, const char *out_dir, enum cr_role role, struct cm_err *err);

/* Revoke a certificate that one of DIR's CAs issued, and all others for the same key that DIR has recorded;
 * *others is how many of these were not revoked yet.  Their serials are added to DIR/ca-clients/ca.crl or
 * DIR/ca-services/ca.crl, and the list is copied, as clients-ca.crl or services-ca.crl, beside every
 * clients-ca.crt or services-ca.crt in the directories below DIR.  The verifier must be told to read that
 * file (PEM, X509_V_FLAG_CRL_CHECK) and to reload.  The list ends when the CA does, since an expired list
 * would shut everybody out.  Files are replaced atomically; revoke one at a time.  Revoking twice is fine.
 * CM_EPERM when neither CA issued it, CM_EUSAGE for a CA's own.  CM_EDATA, CM_EIO for a file of issued/
 * that cannot be read: even then the certificate and those that could be read are revoked. */
CM_CHECK enum cm_rc cr_pki_revoke(const char *dir, const char *cert_path, size_t *others, struct cm_err *err);

struct cr_pki_info {
	struct cr_identity identity;
	bool is_ca;
	char subject[256], issuer[256], sha256[65];
	/* the certificate's DNS names and addresses, with commas between; ends in ",..." if there are
	 * more */
	char hosts[1024];
	int64_t not_before, not_after; /* when it begins and when it ends, in unix seconds */
};
/* Read a PEM certificate's first block.  identity.role is CR_ROLE_NONE if the certificate names no valid
 * role (as a CA's does not).  CM_ENOINPUT without the file, CM_EDATA when it is no certificate. */
CM_CHECK enum cm_rc cr_pki_show(const char *cert_path, struct cr_pki_info *out, struct cm_err *err);
