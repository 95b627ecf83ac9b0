/* cl_saved.c - stores a fetched round and its plan in two files and loads them. */
#include "cl_saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_file.h"
#include "pr_msg.h"

#define MORE 128u /* bytes that a document may have in addition to its contents */

static char *plan_path(const char *path)
{
	size_t room = strlen(path) + sizeof ".plan";
	char *out = malloc(room);

	if (out)
		(void)snprintf(out, room, "%s.plan", path);
	return out;
}

static enum cm_rc no_round(const char *path, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA, "%s: not a round as --save writes it", path);
}

/* Load a document of this type from a file; free with pr_doc_free and cm_buf_fini. */
static enum cm_rc load(const char *path, const ProtobufCMessageDescriptor *type, size_t max,
	struct cm_buf *bytes, struct pr_doc *doc, struct cm_err *err)
{
	enum cm_rc rc;

	*doc = (struct pr_doc){ .msg = NULL };
	cm_buf_init(bytes, max + MORE);
	rc = cm_file_read(path, max + MORE, bytes, err);
	if (rc == CM_OK && pr_doc_decode(type, bytes->data, bytes->len, max + MORE, doc, err) != CM_OK)
		rc = no_round(path, err);
	return rc;
}

static enum cm_rc load_round(const char *path, struct cl_fetched *out, struct cm_err *err)
{
	const Tombola__V1__Round *round;
	struct cm_buf bytes;
	struct pr_doc doc;
	enum cm_rc rc = load(path, &tombola__v1__round__descriptor, PR_DESCRIPTOR_MAX, &bytes, &doc, err);

	round = (const Tombola__V1__Round *)doc.msg;
	if (rc == CM_OK &&
		(round->signature.len != PR_SIGNATURE_LEN ||
			cm_buf_put(&out->descriptor, round->descriptor.data, round->descriptor.len) != CM_OK))
		rc = no_round(path, err);
	if (rc == CM_OK)
		memcpy(out->signature, round->signature.data, PR_SIGNATURE_LEN);
	pr_doc_free(&doc);
	cm_buf_fini(&bytes);
	return rc;
}

static enum cm_rc load_plan(const char *path, struct cl_fetched *out, struct cm_err *err)
{
	const Tombola__V1__SignedPlan *plan;
	struct cm_buf bytes;
	struct pr_doc doc;
	enum cm_rc rc = load(path, &tombola__v1__signed_plan__descriptor, PR_PLAN_MAX, &bytes, &doc, err);

	plan = (const Tombola__V1__SignedPlan *)doc.msg;
	if (rc == CM_OK && (plan->signature.len != PR_SIGNATURE_LEN ||
				   cm_buf_put(&out->plan, plan->plan.data, plan->plan.len) != CM_OK))
		rc = no_round(path, err);
	if (rc == CM_OK)
		memcpy(out->plan_signature, plan->signature.data, PR_SIGNATURE_LEN);
	pr_doc_free(&doc);
	cm_buf_fini(&bytes);
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

enum cm_rc cl_saved_load(const char *path, struct cl_fetched *out, struct cm_err *err)
{
	char *beside = plan_path(path);
	enum cm_rc rc = beside ? load_round(path, out, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK)
		rc = load_plan(beside, out, err);
	free(beside);
	return rc;
}

static enum cm_rc store(const char *path, const ProtobufCMessage *doc, size_t max, struct cm_err *err)
{
	struct cm_buf bytes;
	enum cm_rc rc;

	cm_buf_init(&bytes, max + MORE);
	rc = pr_doc_encode(doc, &bytes, err);
	if (rc == CM_OK)
		rc = cm_file_write(path, bytes.data, bytes.len, 0644, err);
	cm_buf_fini(&bytes);
	return rc;
}

enum cm_rc cl_saved_store(const char *path, struct cl_fetched *from, struct cm_err *err)
{
	Tombola__V1__Round round = TOMBOLA__V1__ROUND__INIT;
	Tombola__V1__SignedPlan plan = TOMBOLA__V1__SIGNED_PLAN__INIT;
	char *beside = plan_path(path);
	enum cm_rc rc;

	round.descriptor = (ProtobufCBinaryData){ from->descriptor.len, from->descriptor.data };
	round.signature = (ProtobufCBinaryData){ PR_SIGNATURE_LEN, from->signature };
	plan.plan = (ProtobufCBinaryData){ from->plan.len, from->plan.data };
	plan.signature = (ProtobufCBinaryData){ PR_SIGNATURE_LEN, from->plan_signature };
	rc = beside ? store(path, &round.base, PR_DESCRIPTOR_MAX, err)
		    : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK && from->plan.len > 0)
		rc = store(beside, &plan.base, PR_PLAN_MAX, err);
	free(beside);
	return rc;
}
