/* fuzz_proof.c - what clients and third persons read of a shuffler: entries of a proof, openings, evidence.
 *
 * An entry that was honest before it was changed never says the contrary of what is so.  What is read of an
 * opening is written to the same bytes' meaning again.  Evidence convicts only by true signatures. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_sign.h"
#include "must.h"
#include "rd_evidence.h"
#include "rd_sort.h"

#define LEAVES 13u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t key = 1;
static uint8_t hash[LEAVES + 3][PR_HASH_LEN]; /* sorted; then some that are not there */
static size_t inside;

/* n sorted leaves, the third of them there twice; and hashes between, before and after them. */
static void make(size_t n, uint8_t root[PR_HASH_LEN])
{
	uint8_t leaf[PR_HASH_LEN];
	struct rd_tree t;

	inside = n;
	for (uint8_t i = 0; i < n; i++)
		cr_sha256(&i, 1, hash[i]);
	if (n > 5)
		memcpy(hash[5], hash[2], PR_HASH_LEN);
	rd_sort_hashes(hash, n);
	rd_tree_init(&t);
	for (size_t i = 0; i < n; i++) {
		rd_tree_leaf(hash[i], PR_HASH_LEN, leaf);
		rd_tree_add(&t, leaf);
	}
	rd_tree_root(&t, root);
	memcpy(hash[n], hash[n / 2], PR_HASH_LEN);
	hash[n][PR_HASH_LEN - 1] ^= 1;
	memset(hash[n + 1], 0, PR_HASH_LEN);
	memset(hash[n + 2], 0xff, PR_HASH_LEN);
}

static void show(size_t at, uint8_t *out, uint8_t *path)
{
	uint8_t leaf[LEAVES][PR_HASH_LEN];

	for (size_t i = 0; i < inside; i++)
		rd_tree_leaf(hash[i], PR_HASH_LEN, leaf[i]);
	memcpy(out, hash[at], PR_HASH_LEN);
	rd_tree_path(leaf, inside, at, (uint8_t(*)[PR_HASH_LEN])path);
}

static void honest(const uint8_t *wanted, uint8_t *entry)
{
	struct rd_tree_entry e = rd_entry_at(entry, inside);
	size_t place = 0;

	memset(entry, 0, rd_entry_len(inside));
	while (place < inside && memcmp(hash[place], wanted, PR_HASH_LEN) < 0)
		place++;
	cm_put_le64(e.place, place);
	if (place < inside && memcmp(hash[place], wanted, PR_HASH_LEN) == 0) {
		*e.kind = RD_FOUND_IN;
		show(place, e.first, e.first_path);
		return;
	}
	*e.kind = RD_FOUND_OUT;
	if (place > 0)
		show(place - 1, e.first, e.first_path);
	if (place < inside)
		show(place, e.second, e.second_path);
}

/* data: leaves, whose entry, then changes of it: place, value. */
static void entries(const uint8_t *data, size_t size)
{
	uint8_t root[PR_HASH_LEN], entry[PR_ENTRY_MAX];

	if (size < 2)
		return;
	make(1 + data[0] % LEAVES, root);
	size_t len = rd_entry_len(inside), whose = data[1] % (inside + 3);
	honest(hash[whose], entry);
	must(rd_entry_check(entry, len, hash[whose], inside, root) ==
		(whose < inside ? RD_FOUND_IN : RD_FOUND_OUT));
	for (size_t i = 2; i + 2 < size; i += 3)
		entry[(data[i] | (size_t)data[i + 1] << 8) % len] = data[i + 2];
	for (size_t i = 0; i < inside + 3; i++) {
		enum rd_found found = rd_entry_check(entry, len, hash[i], inside, root);
		must(found == RD_FOUND_NOT_SAID || found == (i < inside ? RD_FOUND_IN : RD_FOUND_OUT));
	}
	(void)rd_entry_check(data, size, hash[0], inside, root);
}

static void openings(const uint8_t *data, size_t size)
{
	struct rd_opening o, again;
	struct cm_buf b;
	struct cm_err err;

	if (size < 2 || rd_opening_decode(data + 1, size - 1, data[0], &o, &err) != CM_OK)
		return;
	cm_buf_init(&b, PR_OPENING_MAX);
	must(rd_opening_encode(&o, data[0], &b, &err) == CM_OK);
	must(rd_opening_decode(b.data, b.len, data[0], &again, &err) == CM_OK);
	must(memcmp(&o, &again, sizeof o) == 0);
	/* The fuzzer may find the hash that stands for a signature; then no other one is accepted beside
	 * it. */
	again.signature[0] ^= 1;
	must(rd_opening_verify(&o, hash[0], data[0], fuzz_verifier(&key), &err) != CM_OK ||
		rd_opening_verify(&again, hash[0], data[0], fuzz_verifier(&key), &err) != CM_OK);
	cm_buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd_evidence said;
	struct cm_err err;

	entries(data, size);
	openings(data, size);
	enum cm_rc rc = rd_evidence_verify(data, size, fuzz_verifier(&key), &said, &err);
	must(rc == CM_EDATA || rc == CM_EPERM || rc == CM_OK);
	/* Two manifests alone can be signed by a fuzzer that finds the hash: of one round, and not the
	 * same. */
	must(rc != CM_OK ||
		(said.fact == RD_FACT_TWO && memcmp(said.manifest[0], said.manifest[1], PR_HASH_LEN) != 0));
	return 0;
}
