/* cl_device.c - derives the pseudonyms of the devices behind this gateway. */
#include "cl_device.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "cr_hash.h"

enum cm_rc cl_device_secret(
	const char *state_dir, bool charged, const struct cr_rng *rng, struct cr_key *out, struct cm_err *err)
{
	enum cm_rc rc = cr_keyfile_load(state_dir, "gateway", out, err);

	/* A new secret would give the devices new pseudonyms, and each could take part twice. */
	if (rc == CM_ENOINPUT && charged && CM_CHECKED("client.secret"))
		return cm_fail(err, CM_EDATA,
			"%s/gateway.key: this client's secret is missing, though its devices have taken "
			"part; restore it, or move the folder away and accept the loss with `tombola-client "
			"accept-loss`",
			state_dir);
	if (rc == CM_ENOINPUT)
		rc = cr_keyfile_create(state_dir, "gateway", rng, out, err);
	return rc;
}

enum cm_rc cl_device_has_secret(const char *state_dir, bool *out, struct cm_err *err)
{
	char *path = cm_file_join(state_dir, "gateway.key");

	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = access(path, F_OK) == 0;
	free(path);
	return CM_OK;
}

void cl_device_pseudonym(const struct cr_key *secret, const char *population, const char *device,
	uint8_t out[PR_PSEUDONYM_LEN])
{
	static const char purpose[] = "tombola device";
	const struct cr_span parts[] = {
		{ purpose, sizeof purpose },
		{ population, strlen(population) + 1 },
		{ device, strlen(device) },
	};

	_Static_assert(PR_PSEUDONYM_LEN == CR_HASH_LEN, "a pseudonym is one HMAC");
	cr_hmac(secret->bytes, sizeof secret->bytes, parts, sizeof parts / sizeof parts[0], out);
}
