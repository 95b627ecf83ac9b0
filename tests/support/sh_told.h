/* sh_told.h - tells a ledger of three rounds to a shuffler that lost its state or was restored: its analyzer
 * sends records, and clients state descriptors. */
#pragma once

#include "sh_steps.h"

#define TOLD_RECORDS 5u /* OPEN, PLAN of three entries, RESERVE three times */

/* The ledger as its analyzer wrote it, and its descriptors as clients keep them. */
struct sh_told {
	struct cm_buf record[TOLD_RECORDS], descriptor[3];
	uint8_t signature[3][CR_SIGN_LEN];
	struct sh_play
		after[TOLD_RECORDS]; /* the analyzer's side after each record; borrowed bytes are not used */
};
extern struct sh_told told;

/* Around each test: a shuffler that has seen all of it, whose policy has 10 colluders. */
int told_set_up(void **state);
int told_tear_down(void **state);
#define TOLD_TEST(name) cmocka_unit_test_setup_teardown(name, told_set_up, told_tear_down)

/* A copy; cm_buf_fini it. */
void told_keep(struct cm_buf *to, const struct cm_buf *from);
/* The analyzer goes on after its record n. */
void told_back_to(size_t n);
/* The shuffler's state is lost, which is accepted so. */
void told_lose(struct sh_loss loss);
/* Show records from..to, from 1. */
enum cm_rc told_show(size_t from, size_t to);
/* A certificate states a descriptor; descriptor i (0..2), which record i + 3 reserves. */
enum sh_stated told_state_bytes(
	unsigned certificate, uint32_t devices, struct cr_span descriptor, struct cr_span signature);
enum sh_stated told_state_head(unsigned certificate, uint32_t devices, size_t i);
/* Announce descriptor i; what it led to is in told_made. */
extern struct sh_announced told_made;
enum cm_rc told_announce(size_t i, bool again);
