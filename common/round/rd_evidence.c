/* rd_evidence.c - makes and checks evidence against a shuffler. */
#include "rd_evidence.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "pr_msg.h"
#include "rd_wire.h"

static Tombola__V1__SignedManifest signed_wire(const struct rd_signed *s)
{
	Tombola__V1__SignedManifest w = TOMBOLA__V1__SIGNED_MANIFEST__INIT;

	w.manifest = rd_wire_bytes(s->bytes, s->len);
	w.signature = rd_wire_bytes(s->signature, CR_SIGN_LEN);
	return w;
}

static enum cm_rc opening_wire(
	const struct rd_opening *o, uint32_t messages_each, struct pr_doc *out, struct cm_err *err)
{
	struct cm_buf opened;

	cm_buf_init(&opened, PR_OPENING_MAX);
	enum cm_rc rc = rd_opening_encode(o, messages_each, &opened, err);
	if (rc == CM_OK)
		rc = pr_doc_decode(
			&tombola__v1__opening__descriptor, opened.data, opened.len, PR_OPENING_MAX, out, err);
	cm_buf_fini(&opened);
	return rc;
}

enum cm_rc rd_evidence_missing(const struct rd_signed *manifest, struct cr_span descriptor,
	uint32_t messages_each, const struct rd_opening *opening, struct cr_span entry, struct cm_buf *out,
	struct cm_err *err)
{
	Tombola__V1__Evidence w = TOMBOLA__V1__EVIDENCE__INIT;
	Tombola__V1__SignedManifest m = signed_wire(manifest);
	struct pr_doc doc;

	enum cm_rc rc = opening_wire(opening, messages_each, &doc, err);
	if (rc != CM_OK)
		return rc;
	w.version = RD_VERSION;
	w.descriptor = rd_wire_bytes(descriptor.data, descriptor.len);
	w.manifest = &m;
	w.opening = (Tombola__V1__Opening *)doc.msg;
	w.entry = rd_wire_bytes(entry.data, entry.len);
	rc = pr_doc_encode(&w.base, out, err);
	pr_doc_free(&doc);
	return rc;
}

enum cm_rc rd_evidence_void(const struct rd_signed *manifest, struct cr_span descriptor,
	uint32_t messages_each, const struct rd_opening *opening, size_t n, struct cm_buf *out,
	struct cm_err *err)
{
	Tombola__V1__Evidence w = TOMBOLA__V1__EVIDENCE__INIT;
	Tombola__V1__SignedManifest m = signed_wire(manifest);
	Tombola__V1__Opening *accepted[PR_PROOF_HASHES];
	struct pr_doc doc[PR_PROOF_HASHES];
	enum cm_rc rc = CM_OK;

	w.version = RD_VERSION;
	w.descriptor = rd_wire_bytes(descriptor.data, descriptor.len);
	w.manifest = &m;
	w.accepted = accepted;
	while (rc == CM_OK && w.n_accepted < n && w.n_accepted < PR_PROOF_HASHES) {
		size_t i = w.n_accepted;

		rc = opening_wire(&opening[i], messages_each, &doc[i], err);
		if (rc != CM_OK)
			break;
		accepted[i] = (Tombola__V1__Opening *)doc[i].msg;
		w.n_accepted++;
	}
	if (rc == CM_OK)
		rc = pr_doc_encode(&w.base, out, err);
	for (size_t i = 0; i < w.n_accepted; i++)
		pr_doc_free(&doc[i]);
	return rc;
}

enum cm_rc rd_evidence_two(
	const struct rd_signed *first, const struct rd_signed *second, struct cm_buf *out, struct cm_err *err)
{
	Tombola__V1__Evidence w = TOMBOLA__V1__EVIDENCE__INIT;
	Tombola__V1__SignedManifest a = signed_wire(first), b;

	w.version = RD_VERSION;
	w.manifest = &a;
	if (second) {
		b = signed_wire(second);
		w.other = &b;
	}
	return pr_doc_encode(&w.base, out, err);
}

/* ---- Checking ---- */

/* Make it a fault of the data that is read, not of a peer. */
static enum cm_rc as_data(struct cm_err *err)
{
	if (err->code == CM_EPROTO)
		err->code = CM_EDATA;
	return err->code;
}

/* Check that this key signed the manifest, and find its round.  pr_read has checked that the fields are
 * there. */
static enum cm_rc check_signed(const Tombola__V1__SignedManifest *s, const struct cr_verifier *shuffler,
	uint8_t round_id[PR_ROUND_ID_LEN], uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	struct pr_doc doc;

	if (!s)
		return cm_fail(err, CM_EDATA, "the evidence holds no manifest");
	enum cm_rc rc = cr_verify(
		shuffler, RD_PURPOSE_MANIFEST, s->manifest.data, s->manifest.len, s->signature.data, err);
	if (CM_CHECKED("evidence.manifest.signature") && rc != CM_OK)
		return cm_context(err, "manifest");
	rc = pr_doc_decode(&tombola__v1__manifest__descriptor, s->manifest.data, s->manifest.len,
		PR_MANIFEST_MAX, &doc, err);
	if (rc != CM_OK)
		return as_data(err);
	memcpy(round_id, ((const Tombola__V1__Manifest *)doc.msg)->round_id.data, PR_ROUND_ID_LEN);
	pr_doc_free(&doc);
	cr_sha256(s->manifest.data, s->manifest.len, hash);
	return CM_OK;
}

static enum cm_rc check_two(const Tombola__V1__Evidence *w, const struct cr_verifier *shuffler,
	struct rd_evidence *out, struct cm_err *err)
{
	uint8_t round_id[PR_ROUND_ID_LEN];
	enum cm_rc rc = check_signed(w->other, shuffler, round_id, out->manifest[1], err);

	if (rc != CM_OK)
		return rc;
	if (memcmp(round_id, out->round_id, PR_ROUND_ID_LEN) != 0)
		return cm_fail(err, CM_EDATA, "the two manifests are of two rounds");
	if (CM_CHECKED("evidence.two.differ") && memcmp(out->manifest[0], out->manifest[1], PR_HASH_LEN) == 0)
		return cm_fail(err, CM_EDATA, "the two manifests are the same");
	out->fact = RD_FACT_TWO;
	return CM_OK;
}

static enum cm_rc check_entry(const Tombola__V1__Evidence *w, const struct rd_manifest *m,
	const struct rd_opening *o, struct cm_err *err)
{
	switch (rd_entry_check(w->entry.data, w->entry.len, o->hash, m->messages, m->tree)) {
	case RD_FOUND_OUT:
		return CM_OK;
	case RD_FOUND_IN:
		return cm_fail(err, CM_EDATA, "the manifest has the message that was accepted");
	case RD_FOUND_NOT_SAID:
		break;
	}
	if (!CM_CHECKED("evidence.entry"))
		return CM_OK;
	return cm_fail(err, CM_EPERM, "the proof that the manifest does not have the message is not valid");
}

static enum cm_rc check_opened(const Tombola__V1__Evidence *w, const struct rd_descriptor *d,
	const struct cr_verifier *shuffler, struct rd_evidence *out, struct cm_err *err)
{
	const Tombola__V1__SignedManifest *s = w->manifest;
	struct rd_opening o;
	struct rd_manifest m;
	enum cm_rc rc = rd_manifest_verify(
		s->manifest.data, s->manifest.len, s->signature.data, shuffler, d, &m, err);

	if (rc != CM_OK)
		return as_data(err);
	if (m.is_void)
		rc = cm_fail(
			err, CM_EDATA, "the round was void: its messages are destroyed, whoever sent them");
	else if (CM_CHECKED("evidence.evened") && d->randomizer.shuffler.tag_messages > 0)
		rc = cm_fail(err, CM_EDATA,
			"the round evens out tags: messages that were accepted may be dropped as prescribed");
	else if ((rc = rd_opening_read(w->opening, d->messages_per_client, &o, err)) != CM_OK)
		rc = as_data(err);
	if (rc == CM_OK)
		rc = rd_opening_verify(&o, d->round_id, d->messages_per_client, shuffler, err);
	if (rc == CM_OK)
		rc = check_entry(w, &m, &o, err);
	if (rc == CM_OK) {
		out->fact = RD_FACT_MISSING;
		out->sequence = d->sequence;
		out->messages = m.messages;
		memcpy(out->message, o.hash, PR_HASH_LEN);
	}
	rd_manifest_fini(&m);
	return rc;
}

static enum cm_rc read_accepted(const Tombola__V1__Evidence *w, const struct rd_descriptor *d,
	const struct cr_verifier *shuffler, struct rd_opening *o, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < w->n_accepted; i++) {
		rc = rd_opening_read(w->accepted[i], d->messages_per_client, &o[i], err);
		if (rc != CM_OK)
			return as_data(err);
		rc = rd_opening_verify(&o[i], d->round_id, d->messages_per_client, shuffler, err);
	}
	return rc;
}

/* pr_read has checked that there are at most PR_PROOF_HASHES openings. */
static enum cm_rc check_void(const Tombola__V1__Evidence *w, const struct rd_descriptor *d,
	const struct cr_verifier *shuffler, struct rd_evidence *out, struct cm_err *err)
{
	const Tombola__V1__SignedManifest *s = w->manifest;
	struct rd_opening *o = calloc(w->n_accepted, sizeof *o);
	struct rd_manifest m = { .bucket = NULL };
	enum cm_rc rc = o ? rd_manifest_verify(s->manifest.data, s->manifest.len, s->signature.data, shuffler,
				    d, &m, err)
			  : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc != CM_OK)
		rc = as_data(err);
	else if (!m.is_void || m.given_up)
		rc = cm_fail(err, CM_EDATA,
			m.given_up ? "the round was given up: its manifest counts nobody"
				   : "the manifest is not void");
	else
		rc = read_accepted(w, d, shuffler, o, err);
	if (rc == CM_OK) {
		out->fact = RD_FACT_VOID;
		out->sequence = d->sequence;
		out->accepted = rd_opening_devices(o, w->n_accepted);
		out->participants = m.participants;
	}
	if (rc == CM_OK && CM_CHECKED("evidence.void") && out->accepted <= out->participants) {
		out->fact = RD_FACT_NONE;
		rc = cm_fail(err, CM_EDATA,
			"accepted messages of %llu devices at least, and the manifest has %llu participants",
			(unsigned long long)out->accepted, (unsigned long long)out->participants);
	}
	rd_manifest_fini(&m);
	free(o);
	return rc;
}

static enum cm_rc check_messages(const Tombola__V1__Evidence *w, const struct cr_verifier *shuffler,
	struct rd_evidence *out, struct cm_err *err)
{
	struct rd_descriptor d;

	if ((!w->opening && w->n_accepted == 0) || w->descriptor.len == 0)
		return cm_fail(err, CM_EDATA,
			"the evidence holds neither two manifests nor a message with its descriptor");
	/* The manifest contains the hash of this descriptor; it does not matter here who made the
	 * descriptor. */
	if (rd_descriptor_decode(w->descriptor.data, w->descriptor.len, &d, err) != CM_OK)
		return as_data(err);
	enum cm_rc rc = w->n_accepted > 0 ? check_void(w, &d, shuffler, out, err)
					  : check_opened(w, &d, shuffler, out, err);
	rd_descriptor_fini(&d);
	return rc;
}

static enum cm_rc read_evidence(const uint8_t *bytes, size_t len, const struct cr_verifier *shuffler,
	struct pr_doc *doc, struct rd_evidence *out, struct cm_err *err)
{
	*out = (struct rd_evidence){ .fact = RD_FACT_NONE };
	enum cm_rc rc =
		pr_doc_decode(&tombola__v1__evidence__descriptor, bytes, len, PR_EVIDENCE_MAX, doc, err);
	if (rc != CM_OK)
		return as_data(err);
	const Tombola__V1__Evidence *w = (const Tombola__V1__Evidence *)doc->msg;
	if (w->version != RD_VERSION)
		return cm_fail(err, CM_EDATA, "version: %lu, this program knows %u",
			(unsigned long)w->version, RD_VERSION);
	return check_signed(w->manifest, shuffler, out->round_id, out->manifest[0], err);
}

enum cm_rc rd_evidence_verify(const uint8_t *bytes, size_t len, const struct cr_verifier *shuffler,
	struct rd_evidence *out, struct cm_err *err)
{
	struct pr_doc doc = { 0 };
	enum cm_rc rc = read_evidence(bytes, len, shuffler, &doc, out, err);

	if (rc == CM_OK) {
		const Tombola__V1__Evidence *w = (const Tombola__V1__Evidence *)doc.msg;
		rc = w->other ? check_two(w, shuffler, out, err) : check_messages(w, shuffler, out, err);
	}
	pr_doc_free(&doc);
	return rc;
}

enum cm_rc rd_evidence_manifest(const uint8_t *bytes, size_t len, const struct cr_verifier *shuffler,
	struct rd_evidence *out, struct cm_err *err)
{
	struct pr_doc doc = { 0 };
	enum cm_rc rc = read_evidence(bytes, len, shuffler, &doc, out, err);

	pr_doc_free(&doc);
	return rc;
}
