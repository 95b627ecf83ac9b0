/* cm_secret.h - key bytes that wipe themselves.  Needs libcrypto. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

#define CM_KEY_LEN 32u

/* 32 secret bytes.  No printable form; wiped by cm_key_fini. */
struct cm_key {
	uint8_t bytes[CM_KEY_LEN];
};

void cm_key_fini(struct cm_key *k);
/* Wipe n bytes at p; the compiler may not remove it. */
void cm_wipe(void *p, size_t n);
/* free and realloc for libraries that are handed private values: what they let go of is wiped.  p: of malloc;
 * NULL is fine.  realloc: NULL out of memory, p is as it was then. */
void cm_wiping_free(void *p);
void *cm_wiping_realloc(void *p, size_t n);
/* Are the n bytes equal?  Time depends on n only. */
bool cm_equal(const void *a, const void *b, size_t n);

/* A directory of small key files, one per round, kept outside any database: destroying the file is the
 * erasure of everything encrypted under it.  Files are 0600, the directory 0700. */
/* Create DIR/NAME.key with a fresh key, durable (file and directory fsynced) before it returns; DIR is made
 * if it is missing.  CM_ECREATE if the file exists or cannot be written, CM_EPERM if others may write in DIR.
 */
struct cm_rng;
CM_CHECK enum cm_rc cm_keyfile_create(
	const char *dir, const char *name, const struct cm_rng *rng, struct cm_key *out, struct cm_err *err);
/* Read it back.  CM_ENOINPUT if there is none (erased), CM_EDATA for a wrong size, CM_EPERM if others may
 * read it. */
CM_CHECK enum cm_rc cm_keyfile_load(
	const char *dir, const char *name, struct cm_key *out, struct cm_err *err);
/* Overwrite, fsync, unlink, fsync the directory.  CM_OK if there is none.  On copy-on-write or wear-levelled
 * media the overwrite may leave an old copy (doc/threat-model.md). */
CM_CHECK enum cm_rc cm_keyfile_erase(const char *dir, const char *name, struct cm_err *err);
