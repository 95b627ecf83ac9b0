/* cm_text.h - UTF-8 from elsewhere: what is text, what may be shown, what fits.  libc only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed UTF-8 character at s (1..4), or 0 when there is none in its n bytes (RFC 3629: no
 * overlong forms, no surrogates, nothing above U+10FFFF). */
size_t cm_text_char(const uint8_t *s, size_t n);

/* Is the character of `len` bytes at s, as cm_text_char found it, one that cannot make a terminal or a log
 * line lie: no control (C0, DEL, C1), line separator or bidirectional override? */
bool cm_text_shows(const uint8_t *s, size_t len);

/* Copy text to out[size], size >= 1 including the NUL, cut at the end of a character.  Whatever is not UTF-8,
 * or does not show, becomes '?', so that every reader accepts the result. */
void cm_text_copy(char *out, size_t size, const char *text);
