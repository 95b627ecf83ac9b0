/* cr_pem.h - reads private keys from PEM files.  Needs libcrypto. */
#pragma once

#include <openssl/evp.h>

#include "cm_rc.h"

/* The first private key in a file of at most 64 KiB; the buffer is wiped.  With `secret`, CM_EPERM when the
 * file's group or others may read or write it.  CM_ENOINPUT without the file, CM_EDATA when it holds no key
 * or the key needs a passphrase. */
CM_CHECK enum cm_rc cr_pem_private_key(const char *path, int secret, EVP_PKEY **out, struct cm_err *err);
/* Password callback for OpenSSL's readers: refuses, so that an encrypted block fails.  Without it OpenSSL
 * would ask on a daemon's terminal. */
int cr_pem_no_password(char *buf, int size, int writing, void *arg);
