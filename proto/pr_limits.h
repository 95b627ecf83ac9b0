/* pr_limits.h - every maximum of the wire, checked before anything is allocated. */
#pragma once

#define PR_FRAME_MAX       (1u << 20) /* bytes of one frame, without its 4-byte length */
#define PR_VERSION_MAJOR   1u
#define PR_VERSION_MINOR   1u
#define PR_HASH_LEN        32u
#define PR_SIGNATURE_LEN   64u
#define PR_ROUND_ID_LEN    16u
#define PR_PSEUDONYM_LEN   32u
#define PR_TEXT_MAX        200u /* bytes of any name or sentence */
#define PR_DESCRIPTOR_MAX  65536u
#define PR_MANIFEST_MAX    262144u
#define PR_CHARGE_MAX      4096u
#define PR_PLAN_MAX        524288u
#define PR_ENTRIES_MAX     1000u /* rounds of one plan */
#define PR_TRIES_MAX       100u  /* tries of one entry */
#define PR_OPENING_MAX     1024u /* bytes of an opened message in the proof of a receipt */
#define PR_ENTRY_MAX       4096u /* bytes of an entry of a proof */
#define PR_EVIDENCE_MAX    (PR_DESCRIPTOR_MAX + 2 * PR_MANIFEST_MAX + 40960u)
#define PR_PROOF_HASHES    32u                   /* hashes in every GetProof */
#define PR_RECORD_MAX      (PR_PLAN_MAX + 8192u) /* bytes of a ledger record */
#define PR_RECORDS_MAX     256u                  /* ledger records in one frame */
#define PR_SUBMISSIONS_MAX 4096u                 /* devices in one Submit */
#define PR_MESSAGES_MAX    8192u                 /* sealed messages of one device in one round */
#define PR_BLANKET_MAX     1024u /* of these, the most that one batch gets, with its blanket messages */
#define PR_SEALED_MAX      4144u /* bytes of one sealed message */
#define PR_TAG_LEN         2u    /* bytes of the tag that precedes a message */
/* bytes that an intake asks the head to sign for a receipt */
#define PR_RECEIPT_LEN  (PR_HASH_LEN + 8u)
#define PR_RECEIPTS_MAX 8192u /* receipts in one frame */
#define PR_LEFT_OUT_MAX 63u   /* reasons for which devices of a round are not taken */
/* bytes of the devices of a certificate that an intake did not take */
#define PR_LEFT_OUT_LEN (PR_HASH_LEN + 12u)
#define PR_MAC_LEN      32u /* bytes of the MAC of a standing, which its client makes */
/* bytes of a certificate's standing, as an intake reports it */
#define PR_STANDING_LEN      (PR_HASH_LEN + PR_MAC_LEN)
#define PR_CATEGORIES_MAX    4096u
#define PR_TALLIES_MAX       524288u      /* counts of one round: a power of two above PR_CATEGORIES_MAX */
#define PR_DIMENSION_MAX     131072u      /* coordinates of a vector */
#define PR_COLUMNS_MAX       64u          /* fields that a query names one by one */
#define PR_SLOTS_MAX         16u          /* different batches of one round */
#define PR_PARAMETERS_MAX    600u         /* bytes of a randomizer's own parameters */
#define PR_COMPUTING_MAX     1024u        /* bytes of the parameters of what a device computes */
#define PR_COMPUTING_FIELDS  32u          /* fields of a reading that a computing device reads */
#define PR_PAYLOAD_MAX       (16u << 20)  /* bytes of the payload of a round */
#define PR_PAYLOAD_PART      (256u << 10) /* bytes of the payload in one frame */
#define PR_PROBABILITIES_MAX 99u          /* quantiles of one round */
#define PR_PROTOCOLS_MAX     64u          /* protocols that a policy names */
#define PR_TAKEN_MAX         ((PR_ENTRIES_MAX + 7u) / 8u) /* bytes with a bit for each entry of a plan */
#define PR_PLACE_MAX         64u                          /* bytes of a place in a policy's file */
#define PR_FAULTS_MAX        4u                           /* reasons of one party in a rehearsal */
#define PR_REHEARSED_MAX     512u                         /* certificates that a rehearsal names */
#define PR_CRITICAL_MAX      16u                          /* critical extensions of a descriptor */
#define PR_HPKE_KEY_LEN      32u
#define PR_BUCKETS_MAX       4096u
#define PR_WAIT_MAX_MS       30000u     /* longest long poll, in milliseconds */
#define PR_NESTING_MAX       4u         /* depth of protobuf messages within messages */
#define PR_FIELDS_MAX        65536u     /* fields in one frame, unknown ones included */
#define PR_ROUND_REPORTS_MAX 100000000u /* participants of one round */
