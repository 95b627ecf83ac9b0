/* sh_spread.h - the head's half of a round whose reports intakes take: epochs, claims, places.  No I/O.
 *
 * In an epoch the reports of a certificate go through the one intake that claimed it.  An intake knows every
 * device that was stored before the epoch, and the next epoch begins only when no commit of this one can be
 * stored any more (sh_store.h, data_epoch).  So each device is stored at most once; doc/intakes.md. */
#pragma once

#include <stdbool.h>

#include "sh_store.h"
#include "sh_tags.h"

/* Least time before an epoch begins only to let a certificate change its intake: at first, and after such
 * epochs in a row, each of which doubles it.  In each epoch every intake reads all tags and drops what has
 * gathered, and one client that comes and goes must not keep them at that. */
#define SH_SPREAD_PAUSE_MS   2000
#define SH_SPREAD_LONGEST_MS 64000

struct sh_spread {
	bool wanted;       /* another epoch is to begin */
	bool closed;       /* the data are closed, and their tags loaded */
	uint64_t epoch;    /* 0: none has begun since this process started */
	uint64_t promised; /* devices that are stored, or that an intake may still store in this epoch */
	int64_t began_ms;
	bool moves;              /* a certificate wants the next epoch, to change its intake */
	int64_t pause_ms;        /* 0: SH_SPREAD_PAUSE_MS */
	struct sh_counts claims; /* certificate's tag: the number of its intake, and whether it has left */
};

void sh_spread_fini(struct sh_spread *s);
/* An epoch has begun: no claim is left, no place is promised beyond what is stored. */
void sh_spread_begin(struct sh_spread *s, const struct sh_epoch *epoch, int64_t now_ms);

enum sh_claim {
	SH_CLAIM_MINE,  /* this intake takes the certificate's reports in this epoch */
	SH_CLAIM_OTHER, /* another one does */
	SH_CLAIM_LATE,  /* of an epoch that is over */
};
/* Intake `intake` (1..SH_INTAKES_MAX) claims the certificate with this tag.  If another has it and its
 * connections there are closed, another epoch is wanted, after the pause. */
#define SH_INTAKES_MAX 0x7fffffffu
#define SH_CLAIMS_MORE 65536u /* claims beyond `target`, against an intake that claims what nobody has */
CM_CHECK enum cm_rc sh_spread_claim(struct sh_spread *s, uint32_t intake, uint64_t epoch,
	const uint8_t tag[SH_TAG_LEN], uint64_t target, int64_t now_ms, enum sh_claim *out,
	struct cm_err *err);
/* The certificate's last connection at this intake has closed. */
void sh_spread_leave(struct sh_spread *s, uint32_t intake, uint64_t epoch, const uint8_t tag[SH_TAG_LEN]);
/* The intake has claimed that certificate in this epoch, and no other intake has. */
bool sh_spread_has(const struct sh_spread *s, uint32_t intake, const uint8_t tag[SH_TAG_LEN]);
/* Promise places for so many devices, of `target` of the round: false, and nothing is promised, if the epoch
 * is over or they are too many. */
bool sh_spread_promise(struct sh_spread *s, uint64_t epoch, uint64_t target, uint64_t devices);
