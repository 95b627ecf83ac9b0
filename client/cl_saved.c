/* cl_saved.c - a round's descriptor and signature in a file. */
#include "cl_saved.h"

#include <string.h>

#include "cm_file.h"
#include "pr_msg.h"

enum cm_rc cl_saved_load(
	const char *path, struct cm_buf *descriptor, uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err)
{
	const Tombola__V1__Round *round;
	struct cm_buf bytes;
	struct pr_doc doc;
	enum cm_rc rc;

	cm_buf_init(&bytes, PR_DESCRIPTOR_MAX + 128);
	rc = cm_file_read(path, PR_DESCRIPTOR_MAX + 128, &bytes, err);
	if (rc == CM_OK && pr_doc_decode(&tombola__v1__round__descriptor, bytes.data, bytes.len,
				   PR_DESCRIPTOR_MAX + 128, &doc, err) != CM_OK)
		rc = cm_fail(err, CM_EDATA, "%s: not a round as --save writes it", path);
	if (rc == CM_OK) {
		round = (const Tombola__V1__Round *)doc.msg;
		if (round->signature.len != PR_SIGNATURE_LEN ||
			cm_buf_put(descriptor, round->descriptor.data, round->descriptor.len) != CM_OK)
			rc = cm_fail(err, CM_EDATA, "%s: not a round as --save writes it", path);
		else
			memcpy(signature, round->signature.data, PR_SIGNATURE_LEN);
		pr_doc_free(&doc);
	}
	cm_buf_fini(&bytes);
	return rc;
}

enum cm_rc cl_saved_store(const char *path, const struct cm_buf *descriptor,
	uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err)
{
	Tombola__V1__Round round = TOMBOLA__V1__ROUND__INIT;
	struct cm_buf bytes;
	enum cm_rc rc;

	round.descriptor = (ProtobufCBinaryData){ descriptor->len, descriptor->data };
	round.signature = (ProtobufCBinaryData){ PR_SIGNATURE_LEN, signature };
	cm_buf_init(&bytes, PR_DESCRIPTOR_MAX + 128);
	rc = pr_doc_encode(&round.base, &bytes, err);
	if (rc == CM_OK)
		rc = cm_file_write(path, bytes.data, bytes.len, 0644, err);
	cm_buf_fini(&bytes);
	return rc;
}
