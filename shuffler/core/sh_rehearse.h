/* sh_rehearse.h - a rehearsal: what would become of a plan that nobody pins.  No I/O.
 *
 * One at a time, with a pause between two.  The shuffler's own part is what it would pin, composed when
 * nothing else waits for that (sh_judge.h).  Each certificate of a client is asked once, and answers for
 * itself; what it claims counts only up to what its certificate and max_share allow it.  Nothing of a
 * rehearsal is stored, and none of it changes a plan, a slice or a round. */
#pragma once

#include "cr_pki.h"
#include "sh_compose.h"

#define SH_REHEARSE_REST_MS 2000   /* from the end of a rehearsal to the next one */
#define SH_REHEARSE_ASKED   65536u /* certificates that are asked at most */

/* What a certificate has said, in the numbers of RehearsedCertificate.state. */
enum sh_rehearsed { SH_REHEARSED_ANSWERED = 1, SH_REHEARSED_DECLINED = 2, SH_REHEARSED_SILENT = 3 };
struct sh_asked {
	uint8_t key_hash[PR_HASH_LEN];
	char name[65];
	uint32_t devices;
	enum sh_rehearsed said;
};
/* An answer that is told beside the sums. */
struct sh_kept {
	size_t asked; /* whose */
	uint64_t listed;
	bool unfinished;
	struct rd_pin taken;
	struct rd_faults faults;
};
/* Participants of an entry. */
struct sh_would {
	uint64_t listed, participants, at_most; /* the fields of RehearsedEntry */
	/* If every client that answered the rehearsal would answer the entry: how many could take part, and
	 * the most devices of one certificate, before max_share.  Without a list the certificate counts. */
	uint64_t could, largest;
};

struct sh_rehearse {
	/* Borrowed; set by sh_rehearse_init. */
	const struct sh_policy *policy;
	const struct sh_plans *plans;
	const struct cr_verifier *analyzer;
	uint64_t number;  /* of the rehearsal under way; 0: none */
	uint64_t last;    /* of the last that began */
	int64_t again_ms; /* monotonic, of the next one; 0: now */
	struct cm_buf draft;
	uint8_t signature[CR_SIGN_LEN];
	int64_t asked_ms;
	int64_t off_ms; /* our clock minus the analyzer's, when it asked */
	struct rd_plan whole;
	/* What the shuffler would pin. */
	enum { SH_DRAFT_DECIDED, SH_DRAFT_WAITS, SH_DRAFT_RUNS } at;
	uint64_t runs_for; /* the rehearsal whose draft a worker thread composes */
	bool unfinished;
	struct rd_pin taken;
	struct rd_faults faults;
	/* What clients would do. */
	struct sh_asked *asked;
	uint32_t *slot; /* hash table (open addressing) of them: a place in `asked`, from 1; 0: free */
	size_t asks, asked_cap, waiting; /* waiting: asked, without an answer yet */
	struct sh_kept *kept;            /* PR_REHEARSED_MAX */
	size_t keeps;
	struct sh_would *would; /* one for each entry */
};

void sh_rehearse_init(struct sh_rehearse *r, const struct sh_policy *policy, const struct sh_plans *plans,
	const struct cr_verifier *analyzer);
void sh_rehearse_fini(struct sh_rehearse *r); /* accepts a zeroed struct */

/* Begin.  CM_EPROTO with *no: BUSY while another is under way, composed or just over; SIGNATURE,
 * BAD_MESSAGE.  mono_ms: monotonic. */
CM_CHECK enum cm_rc sh_rehearse_begin(struct sh_rehearse *r, const Tombola__V1__Rehearse *question,
	int64_t now_ms, int64_t mono_ms, struct sh_refusal *no, struct cm_err *err);
/* End it, whether it was told or not. */
void sh_rehearse_end(struct sh_rehearse *r, int64_t mono_ms);

/* The draft to be composed now, or *out NULL; then sh_compose_run and sh_rehearse_composed.  What is composed
 * may outlive its rehearsal. */
CM_CHECK enum cm_rc sh_rehearse_compose(struct sh_rehearse *r, struct sh_compose **out, struct cm_err *err);
/* w NULL: it was composed by a policy that is not in force any more. */
void sh_rehearse_composed(struct sh_rehearse *r, const struct sh_compose *w);
/* The policy has other values: decide anew about the draft of a rehearsal under way. */
void sh_rehearse_reconsider(struct sh_rehearse *r);
/* Whether what is composed is of no use any more. */
bool sh_rehearse_outlived(const struct sh_rehearse *r);

/* Is this certificate to be asked?  If so it counts as silent until it answers.  CM_ELATER: it was asked
 * before, or too many were. */
CM_CHECK enum cm_rc sh_rehearse_ask(struct sh_rehearse *r, const struct cr_identity *who, struct cm_err *err);
/* Take the answer of a certificate; false: it was not asked, has answered, or speaks of another draft. */
bool sh_rehearse_answer(
	struct sh_rehearse *r, const struct cr_identity *who, const Tombola__V1__RehearsalAnswer *answer);
/* Whether all that were asked have answered, and the shuffler's own part is known. */
bool sh_rehearse_is_done(const struct sh_rehearse *r);

/* Call tell with the result, once.  connected: hashes of the keys of clients that are connected, n of them,
 * which may repeat; reordered. */
CM_CHECK enum cm_rc sh_rehearse_tell(struct sh_rehearse *r, const uint8_t **connected, size_t n,
	void (*tell)(void *user, Tombola__V1__Rehearsed *result), void *user, struct cm_err *err);
