/* cm_libcrypto.h - libcrypto and libssl that have no memory end the process.
 *
 * They do not say it: a key is "unsupported", a certificate's CA "unknown", and what was not there once - an
 * algorithm, a public key - is remembered as missing until the process ends.  So a peer or a file would be
 * blamed, and a daemon would go on that can talk to nobody.  A process that is started again has lost
 * nothing. */
#pragma once

/* From now on an allocation of theirs that fails ends the process.  To be called first in main(): it is the
 * same as before when they have allocated already. */
void cm_libcrypto_begin(void);
/* One line on standard error, and exit code 70, at once: for what cannot be told to a caller. */
_Noreturn void cm_libcrypto_die(const char *why);
