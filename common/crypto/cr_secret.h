/* cr_secret.h - keys that are wiped when freed, and key files that are overwritten when erased.  Needs
 * libcrypto. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

#define CR_KEY_LEN 32u

/* 32 secret bytes.  No printable form; wiped by cr_key_fini. */
struct cr_key {
	uint8_t bytes[CR_KEY_LEN];
};

void cr_key_fini(struct cr_key *k);
/* Wipe n bytes at p; the compiler may not remove it. */
void cr_wipe(void *p, size_t n);
/* Wipe the 64 KiB of stack below the caller's own frame, where functions that have returned left theirs. */
void cr_wipe_stack(void);
/* Versions of free and realloc that wipe the memory they release, for libraries that handle private values.
 * p comes from malloc or is NULL.  realloc returns NULL out of memory, and p is then unchanged. */
void cr_wiping_free(void *p);
void *cr_wiping_realloc(void *p, size_t n);
/* Are the n bytes equal?  The time depends only on n. */
bool cr_equal(const void *a, const void *b, size_t n);

/* A directory of small key files, one for each round, kept outside any database: destroying the file erases
 * everything encrypted under it.  Files are 0600, the directory 0700. */
/* Create DIR/NAME.key with a fresh key, durable (file and directory fsynced) before it returns; DIR is made
 * if it is missing.  CM_ECREATE if the file exists or cannot be written, CM_EPERM if others may write in
 * DIR. */
struct cr_rng;
CM_CHECK enum cm_rc cr_keyfile_create(
	const char *dir, const char *name, const struct cr_rng *rng, struct cr_key *out, struct cm_err *err);
/* Read the key.  CM_ENOINPUT if the file does not exist (it was erased), CM_EDATA for a wrong size,
 * CM_EPERM if others may read it. */
CM_CHECK enum cm_rc cr_keyfile_load(
	const char *dir, const char *name, struct cr_key *out, struct cm_err *err);
/* Overwrite and fsync the file, unlink it, and fsync the directory.  CM_OK if there is no such file.  On
 * copy-on-write or wear-levelled media the overwrite may leave an old copy (doc/threat-model.md). */
CM_CHECK enum cm_rc cr_keyfile_erase(const char *dir, const char *name, struct cm_err *err);
