/* pki_deployment.h - a deployment's certificates in a folder in /tmp, for the tests of cr_pki. */
#pragma once

#include <openssl/x509.h>

#define HOSTS "shuffler.example,192.0.2.7,2001:db8::1"

/* For cmocka_run_group_tests: the deployment "d", with these hosts and 100 devices. */
int pki_deployment_make(void **state);
int pki_deployment_drop(void **state);

/* A path in that folder, in one of a few buffers that take turns. */
const char *at(const char *name);
X509 *load(const char *name);
/* The verdict of X509_verify_cert, by a revocation list unless that is NULL: X509_V_OK or why not. */
int verify(const char *ca_name, const char *name, int purpose, const char *list_name);
