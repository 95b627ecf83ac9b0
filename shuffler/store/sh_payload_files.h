/* sh_payload_files.h - stores payloads of rounds as files: the payload_ functions of sh_store.h. */
#pragma once

#include "sh_store.h"

/* `dir` is the folder of payloads: a complete payload is the file HASH, one that is still arriving
 * HASH.part. */
enum cm_rc sh_payload_file_add(const char *dir, const uint8_t hash[PR_HASH_LEN], uint64_t offset,
	const void *bytes, size_t len, struct cm_err *err);
enum cm_rc sh_payload_file_finish(const char *dir, const uint8_t hash[PR_HASH_LEN], struct cm_err *err);
enum cm_rc sh_payload_file_read(const char *dir, const uint8_t hash[PR_HASH_LEN], uint64_t offset, void *out,
	size_t len, struct cm_err *err);
enum cm_rc sh_payload_file_drop(const char *dir, const uint8_t hash[PR_HASH_LEN], struct cm_err *err);
enum cm_rc sh_payload_file_each(const char *dir, sh_payload_fn *fn, void *user, struct cm_err *err);
