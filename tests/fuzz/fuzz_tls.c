/* fuzz_tls.c - any bytes, cut anywhere, into a server's and a client's session before the peer is known. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "certs.h"
#include "nt_tls.h"

static struct nt_tls_ctx *ctx[2]; /* client, server */

static void setup(void)
{
	static struct certs certs;
	struct cm_err err;

	certs_init(&certs);
	certs_ca(&certs, "ca");
	certs_issue(
		&certs, &(struct certs_leaf){ .ca = "ca", .cn = "edge", .uri = { "tombola:role:client" } });
	certs_issue(&certs,
		&(struct certs_leaf){ .ca = "ca", .cn = "shuffler", .uri = { "tombola:role:shuffler" } });
	for (int server = 0; server < 2; server++) {
		const char *name = server ? "shuffler" : "edge";
		struct nt_tls_conf conf = {
			.server = server,
			.cert_file = certs_path(&certs, name, "crt"),
			.key_file = certs_path(&certs, name, "key"),
			.trust = { { server ? CR_ROLE_CLIENT : CR_ROLE_SHUFFLER,
				certs_path(&certs, "ca", "crt"), NULL } },
		};

		if (nt_tls_ctx_new(&conf, &ctx[server], &err) != CM_OK)
			abort();
	}
	certs_fini(&certs);
}

/* First byte: which end, and the size of the pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cm_buf plain, wire;
	struct nt_tls *t;
	struct cm_err err;
	size_t step;

	if (n == 0)
		return 0;
	if (!ctx[0])
		setup();
	step = (size_t)(data[0] >> 1) * 16 + 1;
	cm_buf_init(&plain, 1u << 16);
	cm_buf_init(&wire, 1u << 16);
	if (nt_tls_new(ctx[data[0] & 1], NULL, &t, &err) != CM_OK || nt_tls_start(t, &wire, &err) != CM_OK)
		abort();
	for (size_t at = 1; at < n; at += step) {
		size_t len = n - at < step ? n - at : step;

		if (nt_tls_feed(t, data + at, len, &plain, &wire, &err) != CM_OK)
			break;
	}
	/* Nobody gets in, and nothing comes out, without a certificate's private key. */
	if (nt_tls_ready(t) || plain.len > 0)
		abort();
	nt_tls_free(t);
	cm_buf_fini(&plain);
	cm_buf_fini(&wire);
	return 0;
}
