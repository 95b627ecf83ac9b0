/* rd_account_private.h - the members of an account.  For rd_account*.c only. */
#pragma once

#include "acct_state.h"
#include "rd_account.h"

/* Rounds with the same loss are kept once. */
struct group {
	struct acct_round *part; /* the parts of its loss, owned */
	size_t parts;
	double pure; /* pt_loss.pure of one round of the group */
	size_t members;
	bool priced;
	struct acct_price price; /* adaptive: price of one round of the group */
};
struct entry {
	uint8_t id[PR_ROUND_ID_LEN];
	size_t group;
};
/* Values computed from the account, cached; not part of its state. */
struct memo {
	bool known;
	double spent;
};
struct rd_account {
	double limit, delta;
	char mode[RD_MODE_LEN];
	struct acct_state *state;  /* mode plan: every entry, composed; else NULL */
	struct acct_filter filter; /* mode adaptive */
	struct group *group;
	size_t groups, group_cap;
	struct entry *entry;
	size_t entries, entry_cap;
	struct memo *memo;
};

static inline bool rd_account_is_adaptive(const struct rd_account *a)
{
	return !a->state;
}

/* Index of the group of this loss; a->groups if there is none. */
size_t rd_account_group(const struct rd_account *a, const struct pt_loss *loss);

/* CM_OK if a round can have this loss; else CM_EINTERNAL. */
CM_CHECK enum cm_rc rd_account_check(const struct pt_loss *loss, struct cm_err *err);

/* Add every part to the state, or none. */
ACCT_CHECK enum acct_rc rd_account_state_add(struct acct_state *s, const struct acct_round *part, size_t n);
/* Remove the same parts again. */
ACCT_CHECK enum acct_rc rd_account_state_remove(
	struct acct_state *s, const struct acct_round *part, size_t n);

/* Index of this round's entry; a->entries if there is none. */
size_t rd_account_entry(const struct rd_account *a, const uint8_t id[PR_ROUND_ID_LEN]);

/* Convert the accountant's error to ours. */
static inline enum cm_rc rd_account_refused(enum acct_rc rc, struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "accountant: %s", acct_strerror(rc));
}
