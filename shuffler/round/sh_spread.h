/* sh_spread.h - the head's part of a round whose reports intakes take: epochs, claims, places.  No I/O.
 *
 * In an epoch the reports of a certificate go through the one intake that claimed it.  An intake knows
 * every device that was stored before the epoch, and the next epoch begins only when no commit of this one
 * can be stored any more (sh_store.h, data_epoch).  So each device is stored at most once;
 * doc/intakes.md. */
#pragma once

#include <stdbool.h>

#include "sh_store.h"
#include "sh_tags.h"

/* Least time before an epoch begins only to let a certificate change its intake.  Every further such epoch
 * in a row doubles it.  In each epoch every intake reads all tags and drops what has gathered, and one
 * client that comes and goes must not keep them busy with that. */
#define SH_SPREAD_PAUSE_MS   2000
#define SH_SPREAD_LONGEST_MS 64000

struct sh_spread {
	bool wanted;    /* another epoch must begin before more reports can be taken */
	bool closed;    /* the data are closed, and their tags have been loaded */
	uint64_t epoch; /* number of the present epoch; 0: none has begun since this process started */
	/* number of devices that are stored, or that an intake may still store in this epoch */
	uint64_t promised;
	int64_t began_ms;
	bool moves; /* a certificate wants the next epoch, to change its intake */
	/* the least time now, which further such epochs double; 0 stands for SH_SPREAD_PAUSE_MS */
	int64_t pause_ms;
	/* for the tag of each certificate: the number of its intake, and whether it has left */
	struct sh_counts claims;
};

void sh_spread_fini(struct sh_spread *s);
/* An epoch has begun: drop all claims, and all promised places that are not used by stored devices. */
void sh_spread_begin(struct sh_spread *s, const struct sh_epoch *epoch, int64_t now_ms);

enum sh_claim {
	SH_CLAIM_MINE,  /* this intake takes the certificate's reports in this epoch */
	SH_CLAIM_OTHER, /* another intake does */
	SH_CLAIM_ENDED, /* the claim is about an epoch that is over */
};
/* Intake `intake` (1..SH_INTAKES_MAX) claims the certificate with this tag.  If another has it and its
 * connections there are closed, another epoch is wanted, after the pause. */
#define SH_INTAKES_MAX 0x7fffffffu
/* claims allowed beyond `target`, to limit an intake that claims certificates which do not exist */
#define SH_CLAIMS_MORE 65536u
CM_CHECK enum cm_rc sh_spread_claim(struct sh_spread *s, uint32_t intake, uint64_t epoch,
	const uint8_t tag[SH_TAG_LEN], uint64_t target, int64_t now_ms, enum sh_claim *out,
	struct cm_err *err);
/* The certificate's last connection at this intake has closed. */
void sh_spread_leave(struct sh_spread *s, uint32_t intake, uint64_t epoch, const uint8_t tag[SH_TAG_LEN]);
/* Has this intake claimed that certificate in this epoch, and no other intake? */
bool sh_spread_has(const struct sh_spread *s, uint32_t intake, const uint8_t tag[SH_TAG_LEN]);
/* Promise places for so many devices, of `target` of the round.  False, and nothing is promised, if the
 * epoch is over or there are not enough places. */
bool sh_spread_promise(struct sh_spread *s, uint64_t epoch, uint64_t target, uint64_t devices);
