/* cm_pem.h - private keys out of PEM files.  Needs libcrypto. */
#pragma once

#include <openssl/evp.h>

#include "cm_rc.h"

/* The first private key in a file of at most 64 KiB; what was read of it is wiped.  With `secret`, CM_EPERM
 * when its group or others may read or write it.  CM_ENOINPUT without the file, CM_EDATA when it holds no key
 * or one that asks for a passphrase. */
CM_CHECK enum cm_rc cm_pem_private_key(const char *path, int secret, EVP_PKEY **out, struct cm_err *err);
/* For OpenSSL's readers, which without it would ask the terminal of a daemon: an encrypted block fails. */
int cm_pem_no_password(char *buf, int size, int writing, void *arg);
