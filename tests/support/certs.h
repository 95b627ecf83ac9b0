/* certs.h - certificates for tests, with any dates, role, issuer and host, also some that our own PKI would
 * never issue. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define DAY_S 86400L

/* A scratch directory that holds every file made; removed with all of them by certs_fini. */
struct certs {
	char dir[64];
	char path[64][128]; /* results of certs_path */
	unsigned n_paths;
};

struct certs_leaf {
	const char *ca; /* name of a CA made before, or NULL: self-signed */
	const char *cn;
	const char *uri[2];          /* SAN URIs, "tombola:role:client"; NULL: none */
	const char *dns, *ip;        /* SAN names, NULL: none */
	long from_s, to_s;           /* validity relative to now; both 0: an hour ago to an hour ahead */
	bool client_eku, server_eku; /* neither: no extended key usage */
	unsigned padding;            /* bytes of a comment extension, to make it large */
};

/* Every function aborts the test program on failure: the tests need what they ask for. */
void certs_init(struct certs *c);
void certs_fini(struct certs *c);
/* DIR/NAME.SUFFIX; valid until certs_fini. */
const char *certs_path(struct certs *c, const char *name, const char *suffix);
/* NAME.crt and NAME.key of a CA, from yesterday to tomorrow. */
void certs_ca(struct certs *c, const char *name);
/* CN.crt and CN.key of this leaf. */
void certs_issue(struct certs *c, const struct certs_leaf *leaf);
/* A directory with these leaves and the CAs that they name. */
void certs_make(struct certs *c, const struct certs_leaf *leaf, size_t n);
/* CA.crl that revokes these certificates (names, NULL-terminated), valid from from_s to to_s relative to
 * now. */
void certs_crl(struct certs *c, const char *ca, const char *const *revoked, long from_s, long to_s);
/* Write NAME.SUFFIX with this text. */
void certs_text(struct certs *c, const char *name, const char *suffix, const char *text);
/* Write NAME.SUFFIX with the contents of the two other files. */
void certs_join(struct certs *c, const char *name, const char *suffix, const char *first, const char *second);
