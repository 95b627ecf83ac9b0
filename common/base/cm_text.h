/* cm_text.h - checks and cleans UTF-8 text from other parties before it is shown. libc only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of bytes (1..4) of the well-formed UTF-8 character at s, or 0 if its n bytes do not begin with
 * one (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). */
size_t cm_text_char(const uint8_t *s, size_t n);

/* Is the character of `len` bytes at s, as cm_text_char found it, safe to print on a terminal or in a log?
 * Controls (C0, DEL, C1), line separators and the characters that change the direction of text (Unicode:
 * Bidi_Control) are not. */
bool cm_text_shows(const uint8_t *s, size_t len);

/* Is it UTF-8, and is every character safe to print? */
bool cm_text_is_printable(const char *text);

/* Copy text to out[size], size >= 1 with the NUL, cut at the end of a character.  Every byte that is not
 * UTF-8, and every character that is not safe to print, becomes '?'; so every reader accepts the result. */
void cm_text_copy(char *out, size_t size, const char *text);
