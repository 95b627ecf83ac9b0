/* sh_vault_private.h - what the two files of sh_vault.h share. */
#pragma once

#include "sh_vault.h"

#define SH_VAULT_TAG_ROW 0xffffffffu /* replaces the bucket number in the associated data of a tag row */
#define SH_VAULT_AAD_LEN (PR_ROUND_ID_LEN + 12u)

void sh_vault_aad(const struct sh_vault *v, uint32_t bucket, uint64_t id, uint8_t aad[SH_VAULT_AAD_LEN]);

/* Forget what was read ahead: all of it, or unless it is NULL, of this bucket alone. */
void sh_window_stale(struct sh_window *w, const uint32_t *bucket);
/* Wipe and free; accepts a zeroed struct. */
void sh_window_fini(struct sh_window *w);
