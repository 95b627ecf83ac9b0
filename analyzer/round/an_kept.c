/* an_kept.c - stores each manifest in a file, and two that contradict each other as evidence. */
#include "an_kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "pr_msg.h"

#define ID_TEXT (2 * PR_ROUND_ID_LEN + 1)

/* Create STATE_DIR/manifests if missing, and make the path of the round's file there.  The caller frees
 * both. */
static enum cm_rc place(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN], char **dir,
	char **path, struct cm_err *err)
{
	char name[ID_TEXT];

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	*dir = cm_file_join(state_dir, "manifests");
	*path = *dir ? cm_file_join(*dir, name) : NULL;
	return *path ? cm_file_mkdir(*dir, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* Write both manifests to a file that convinces a third person. */
static enum cm_rc convict(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct rd_signed *kept, const struct rd_signed *told, struct cm_err *err)
{
	char id[ID_TEXT], name[ID_TEXT + 32];
	struct cm_buf bytes;

	cm_hex(round_id, PR_ROUND_ID_LEN, id);
	(void)snprintf(name, sizeof name, "evidence-%s-manifests", id);
	char *path = cm_file_join(state_dir, name);
	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	enum cm_rc rc =
		path ? rd_evidence_two(kept, told, &bytes, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = cm_file_write(path, bytes.data, bytes.len, 0600, err);
	if (rc == CM_OK)
		rc = cm_fail(err, CM_EPROTO,
			"the shuffler signed two manifests for one round; both are kept: %.200s", path);
	cm_buf_fini(&bytes);
	free(path);
	return rc;
}

/* Compare a manifest with the stored one.  bytes: the content of the stored file. */
static enum cm_rc compare(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct cm_buf *bytes, const struct rd_signed *told, const struct cr_verifier *shuffler,
	struct cm_err *err)
{
	struct rd_evidence e;
	struct pr_doc doc;
	struct rd_signed kept;
	enum cm_rc rc = rd_evidence_manifest(bytes->data, bytes->len, shuffler, &e, err);

	if (rc == CM_OK)
		rc = pr_doc_decode(&tombola__v1__evidence__descriptor, bytes->data, bytes->len,
			PR_EVIDENCE_MAX, &doc, err);
	if (rc != CM_OK)
		return cm_fail(
			err, rc == CM_EINTERNAL ? rc : CM_EDATA, "the manifest that was kept is damaged");
	const Tombola__V1__SignedManifest *s = ((const Tombola__V1__Evidence *)doc.msg)->manifest;
	kept = (struct rd_signed){ .bytes = s->manifest.data, .len = s->manifest.len };
	memcpy(kept.signature, s->signature.data, CR_SIGN_LEN);
	if (CM_CHECKED("analyzer.manifest.twice") &&
		(kept.len != told->len || memcmp(kept.bytes, told->bytes, kept.len) != 0))
		rc = convict(state_dir, round_id, &kept, told, err);
	pr_doc_free(&doc);
	return rc;
}

enum cm_rc an_kept_manifest(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct rd_signed *manifest, const struct cr_verifier *shuffler, struct cm_err *err)
{
	char *dir = NULL, *path = NULL;
	struct cm_buf bytes;
	enum cm_rc rc = place(state_dir, round_id, &dir, &path, err);

	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	if (rc == CM_OK && access(path, F_OK) != 0 && errno == ENOENT) {
		rc = rd_evidence_two(manifest, NULL, &bytes, err);
		if (rc == CM_OK)
			rc = cm_file_write(path, bytes.data, bytes.len, 0600, err);
	} else if (rc == CM_OK) {
		rc = cm_file_read(path, PR_EVIDENCE_MAX, &bytes, err);
		if (rc == CM_OK)
			rc = compare(state_dir, round_id, &bytes, manifest, shuffler, err);
		if (rc == CM_EDATA)
			(void)cm_context(err, "%s", path);
	}
	cm_buf_fini(&bytes);
	free(dir);
	free(path);
	return rc;
}
