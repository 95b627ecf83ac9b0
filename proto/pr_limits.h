/* pr_limits.h - every maximum of the wire, checked before more than a few times a message's length is
 * allocated. */
#pragma once

#define PR_FRAME_MAX      (1u << 20) /* most bytes of one frame, without the 4 bytes of its length */
#define PR_VERSION_MAJOR  1u
#define PR_VERSION_MINOR  1u
#define PR_HASH_LEN       32u
#define PR_SIGNATURE_LEN  64u
#define PR_ROUND_ID_LEN   16u
#define PR_PSEUDONYM_LEN  32u
#define PR_TEXT_MAX       200u /* most bytes of a name or sentence */
#define PR_DESCRIPTOR_MAX 65536u
#define PR_MANIFEST_MAX   262144u
#define PR_CHARGE_MAX     4096u
#define PR_PLAN_MAX       524288u
#define PR_ENTRIES_MAX    1000u /* most rounds of one plan */
#define PR_TRIES_MAX      100u  /* most tries of one entry of a plan */
#define PR_OPENING_MAX    1024u /* most bytes of an opened message that proves a receipt */
/* most bytes of an entry of a proof that a message is or is not in a round */
#define PR_ENTRY_MAX       4096u
#define PR_EVIDENCE_MAX    (PR_DESCRIPTOR_MAX + 2 * PR_MANIFEST_MAX + 40960u)
#define PR_PROOF_HASHES    32u /* number of hashes in every GetProof, whatever the client wants to know */
#define PR_RECORD_MAX      (PR_PLAN_MAX + 8192u) /* most bytes of a ledger record */
#define PR_RECORDS_MAX     256u                  /* most ledger records in one frame */
#define PR_SUBMISSIONS_MAX 4096u                 /* most devices in one Submit */
#define PR_MESSAGES_MAX    8192u                 /* most sealed messages of one device in one round */
/* most of these that one batch gets, together with its blanket messages */
#define PR_BLANKET_MAX 1024u
#define PR_SEALED_MAX  4144u /* most bytes of one sealed message */
#define PR_TAG_LEN     2u    /* bytes of the tag that precedes a message in rounds with tags */
/* bytes of what an intake asks the head to sign for a receipt */
#define PR_RECEIPT_LEN  (PR_HASH_LEN + 8u)
#define PR_RECEIPTS_MAX 8192u /* most receipts in one frame */
#define PR_LEFT_OUT_MAX 63u   /* most reasons for which devices of a round are not taken */
/* bytes that state for one certificate how many of its devices an intake did not take */
#define PR_LEFT_OUT_LEN (PR_HASH_LEN + 12u)
#define PR_MAC_LEN      32u /* bytes of the MAC of a standing, which its client makes */
/* bytes of a certificate's standing, as an intake reports it */
#define PR_STANDING_LEN      (2 * PR_HASH_LEN + PR_MAC_LEN)
#define PR_CATEGORIES_MAX    4096u
#define PR_TALLIES_MAX       524288u /* most counts of one round: a power of two above PR_CATEGORIES_MAX */
#define PR_DIMENSION_MAX     131072u /* most coordinates of a vector */
#define PR_COLUMNS_MAX       64u     /* most fields that a query names one by one */
#define PR_SLOTS_MAX         16u     /* most different batches of one round */
#define PR_PARAMETERS_MAX    600u    /* most bytes of a randomizer's own parameters */
#define PR_COMPUTING_MAX     1024u   /* most bytes of the parameters of what a device computes */
#define PR_COMPUTING_FIELDS  32u     /* most fields of a reading that a computing device reads */
#define PR_PAYLOAD_MAX       (16u << 20)  /* most bytes of the payload of a round */
#define PR_PAYLOAD_PART      (256u << 10) /* most bytes of a payload in one frame */
#define PR_PROBABILITIES_MAX 99u          /* most quantiles of one round */
#define PR_PROTOCOLS_MAX     64u          /* most protocols that a policy names */
/* most bytes of a field that has a bit for each entry of a plan */
#define PR_TAKEN_MAX         ((PR_ENTRIES_MAX + 7u) / 8u)
#define PR_PLACE_MAX         64u  /* most bytes of the name of a place in a policy's file */
#define PR_FAULTS_MAX        4u   /* most different reasons that one party gives in a rehearsal */
#define PR_REHEARSED_MAX     512u /* most certificates that a rehearsal names */
#define PR_CRITICAL_MAX      16u  /* most critical extensions of a descriptor */
#define PR_HPKE_KEY_LEN      32u
#define PR_BUCKETS_MAX       4096u
#define PR_WAIT_MAX_MS       30000u     /* longest time that a long poll may wait, in milliseconds */
#define PR_NESTING_MAX       4u         /* most levels of protobuf messages within messages */
#define PR_FIELDS_MAX        65536u     /* most fields in one frame, unknown ones included */
#define PR_ROUND_REPORTS_MAX 100000000u /* most participants of one round */
