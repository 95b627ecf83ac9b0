/* sh_left_out.h - counts the devices of a round that are not taken, by reason and by certificate.  No I/O.
 *
 * Of a certificate at most as many devices count as it speaks for, whatever its client sends or says, and
 * however often.  The counts are in memory: after a restart they begin anew, and clients that decline say so
 * again.  Without memory, and beyond SH_LEFT_OUT_CERTIFICATES, devices are not counted. */
#pragma once

#include "cr_pki.h"
#include "rd_left_out.h"
#include "sh_tags.h"

#define SH_LEFT_OUT_CERTIFICATES 1048576u /* most certificates that are counted in one round */

/* A client, by its certificate. */
struct sh_leaver {
	const uint8_t *tag; /* tag of the client's certificate (sh_vault_certificate) */
	const char *name;   /* name of the certificate, for the log */
	uint32_t devices;   /* number of devices that it speaks for */
};
/* The certificate with the most devices of a reason. */
struct sh_left_most {
	uint32_t devices;
	char name[sizeof(((struct cr_identity *)0)->name)];
};

/* All zero: nobody is left out. */
struct sh_left_out {
	/* sum: all so far; told: what sh_left_out_news has returned already */
	struct rd_left_out sum, told;
	struct sh_left_most most[RD_LEFT_OUT];
	struct sh_counts sent; /* for each certificate: devices that were sent and not taken */
	/* for each certificate that declined: the reason and its devices; 0 if it declines no more */
	struct sh_counts declined;
};

void sh_left_out_fini(struct sh_left_out *l);
/* Of the devices that this client sent, n were not taken, for that reason. */
void sh_left_out_sent(struct sh_left_out *l, const struct sh_leaver *who, unsigned why, uint64_t n);
/* This client takes no part, with so many listed devices; 0: with all that its certificate speaks for.
 * Saying it again changes nothing. */
void sh_left_out_decline(struct sh_left_out *l, const struct sh_leaver *who, unsigned why, uint64_t listed);
/* What was added since the last call of this function. */
void sh_left_out_news(struct sh_left_out *l, struct rd_left_out *out);
/* This client takes part: what it said before is withdrawn. */
void sh_left_out_takes_part(struct sh_left_out *l, const uint8_t tag[SH_TAG_LEN]);
