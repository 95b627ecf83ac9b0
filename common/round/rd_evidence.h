/* rd_evidence.h - evidence that convicts a shuffler: made by the party it wronged, checked by anybody who has
 * the shuffler's public key.  No I/O.
 *
 * Evidence is one of three things, each with the shuffler's signatures:
 * - a message that it accepted and that its manifest of the round lacks;
 * - two different manifests of one round;
 * - a VOID manifest that states fewer participants than devices whose reports it accepted.
 * An honest shuffler signs none of these, whatever clients send: it counts and releases what it accepts, and
 * signs one manifest a round.
 *
 * A VOID manifest of a round that was given up states no participants, and convicts nobody.  A round whose
 * shuffler evens out tags convicts nobody either, since the shuffler drops messages as the round prescribes.
 * Evidence cannot show that a message in the manifest was not released (the analyzer sees that), nor that a
 * shuffler which does not answer is dishonest. */
#pragma once

#include "rd_manifest.h"
#include "rd_receipt.h"

struct rd_signed {
	const uint8_t *bytes; /* the document as signed; borrowed */
	size_t len;
	uint8_t signature[CR_SIGN_LEN];
};

/* The fact that evidence proves. */
enum rd_fact {
	RD_FACT_NONE,    /* it proves nothing: it holds one manifest */
	RD_FACT_MISSING, /* the manifest lacks an accepted message */
	RD_FACT_TWO,     /* there are two manifests */
	RD_FACT_VOID,    /* the VOID manifest counts fewer devices than were accepted */
};
struct rd_evidence {
	enum rd_fact fact;
	uint8_t round_id[PR_ROUND_ID_LEN];
	/* SHA-256 of the one or two manifests; the second only for RD_FACT_TWO */
	uint8_t manifest[2][PR_HASH_LEN];
	uint64_t sequence; /* sequence number of the round, by its descriptor; not for RD_FACT_TWO */
	uint64_t messages; /* number of the round's messages, by its manifest; not for RD_FACT_TWO */
	/* Only for RD_FACT_VOID.  accepted: number of devices that the evidence shows as accepted;
	 * participants: number that the manifest states. */
	uint64_t accepted, participants;
	/* SHA-256 of the sealed message that is missing; only for RD_FACT_MISSING */
	uint8_t message[PR_HASH_LEN];
};

/* Encode the evidence that the manifest lacks an accepted message.  opening: shows in a receipt that it was
 * accepted; entry: shows that the manifest's tree lacks it (rd_tree.h); descriptor: the round's.
 * CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc rd_evidence_missing(const struct rd_signed *manifest, struct cr_span descriptor,
	uint32_t messages_each, const struct rd_opening *opening, struct cr_span entry, struct cm_buf *out,
	struct cm_err *err);
/* Encode the evidence that a VOID manifest states fewer participants than devices were accepted.  opening: n
 * of them, up to PR_PROOF_HASHES, each of an accepted message of another device, and more than the manifest
 * has participants.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc rd_evidence_void(const struct rd_signed *manifest, struct cr_span descriptor,
	uint32_t messages_each, const struct rd_opening *opening, size_t n, struct cm_buf *out,
	struct cm_err *err);
/* Encode two manifests of one round that differ.  second NULL: encodes the first alone, which proves nothing
 * until it is compared with another. */
CM_CHECK enum cm_rc rd_evidence_two(const struct rd_signed *first, const struct rd_signed *second,
	struct cm_buf *out, struct cm_err *err);

/* Check every signature and path.  CM_OK: out->fact is proved.  CM_EPERM: something is not signed by this
 * key, or its content is not what it claims.  CM_EDATA: the evidence is malformed, or proves nothing against
 * a shuffler (err says why). */
CM_CHECK enum cm_rc rd_evidence_verify(const uint8_t *bytes, size_t len, const struct cr_verifier *shuffler,
	struct rd_evidence *out, struct cm_err *err);
/* The first manifest in a piece of evidence, if this key signed it; the rest of the evidence is not checked.
 * out->fact is RD_FACT_NONE, or RD_FACT_TWO for two manifests of one round that differ. */
CM_CHECK enum cm_rc rd_evidence_manifest(const uint8_t *bytes, size_t len, const struct cr_verifier *shuffler,
	struct rd_evidence *out, struct cm_err *err);
