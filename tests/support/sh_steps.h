/* sh_steps.h - steps that many tests of the shuffler repeat.
 *
 * Every step ends the test on any result that it does not expect. */
#pragma once

#include "sh_play.h"

extern struct sh_play play;
extern struct sh_receipt receipt; /* of the last submission */

#define ERROR(name)   TOMBOLA__V1__ERROR_CODE__ERROR_##name
#define OUTCOME(name) TOMBOLA__V1__OUTCOME__OUTCOME_##name

/* Around each test: a shuffler in a scratch folder, started. */
int steps_set_up(void **state);
int steps_tear_down(void **state);
#define STEPS_TEST(name) cmocka_unit_test_setup_teardown(name, steps_set_up, steps_tear_down)

/* Assert that rc is a refusal with this code. */
void steps_refused(enum cm_rc rc, Tombola__V1__ErrorCode code);
/* Devices first..first+n-1 of a certificate that may speak for a million. */
void steps_submit(unsigned certificate, uint64_t first, size_t n);
/* Assert that every outcome of the last submission is this. */
void steps_all_are(Tombola__V1__Outcome outcome);
/* The two above: all are accepted. */
void steps_accepted(unsigned certificate, uint64_t first, size_t n);
void steps_restart(void);
/* The path of the round's file ("rounds", ".db" or "keys", ".key"), and whether it exists. */
char *steps_place(char out[256], const char *folder, const char *suffix);
bool steps_file_exists(const char *folder, const char *suffix);
/* Each device's messages are in `pulled` exactly once; or in what is pulled now. */
void steps_each_once(const struct cm_buf *pulled, uint64_t devices);
void steps_pull_each_once(uint64_t devices);
/* Manifest, charge, release, and every message once. */
void steps_release_all(uint64_t devices);
/* The ledger voids the round. */
void steps_void(void);
