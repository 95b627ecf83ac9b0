/* cr_pem.h - reads private keys from PEM files.  Needs libcrypto. */
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>

#include "cm_rc.h"
#include "cr_private_file.h"

/* Read the first private key in a file of at most 64 KiB; the buffer is wiped.  kind is CR_SECRET, or
 * CR_OURS for tests.  CM_EPERM as cr_private_read.  CM_ENOINPUT without the file, CM_EDATA when it holds no
 * key or the key needs a passphrase. */
CM_CHECK enum cm_rc cr_pem_private_key(
	const char *path, enum cr_kind kind, EVP_PKEY **out, struct cm_err *err);
/* Create the file with what was written into a memory BIO: cr_private_create. */
CM_CHECK enum cm_rc cr_pem_create(const char *path, BIO *bio, unsigned mode, struct cm_err *err);
/* A password callback for OpenSSL's readers that refuses, so an encrypted block fails.  Without it OpenSSL
 * would ask on a daemon's terminal. */
int cr_pem_no_password(char *buf, int size, int writing, void *arg);
