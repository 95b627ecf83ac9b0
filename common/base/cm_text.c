/* cm_text.c - checks and cleans UTF-8 text from other parties before it is shown. */
#include "cm_text.h"

#include <string.h>

size_t cm_text_char(const uint8_t *s, size_t n)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t len;

	if (n == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (len > n)
		return 0;
	/* The second byte decides: it refuses overlong forms, surrogates and characters above U+10FFFF. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return len;
}

bool cm_text_shows(const uint8_t *s, size_t len)
{
	if (len == 1)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (len == 2)
		return (s[0] != 0xc2 || s[1] >= 0xa0) && /* excludes U+0080..U+009F */
		       !(s[0] == 0xd8 && s[1] == 0x9c);  /* excludes U+061C */
	if (len == 3 && s[0] == 0xe2 && s[1] == 0x80)
		return (s[2] < 0xa8 || s[2] > 0xae) && /* excludes U+2028..U+202E */
		       s[2] != 0x8e && s[2] != 0x8f;   /* excludes U+200E, U+200F */
	if (len == 3 && s[0] == 0xe2 && s[1] == 0x81)
		return s[2] < 0xa6 || s[2] > 0xa9; /* excludes U+2066..U+2069 */
	return true;
}

bool cm_text_is_printable(const char *text)
{
	const uint8_t *s = (const uint8_t *)text;
	size_t n = strlen(text);

	while (n > 0) {
		size_t len = cm_text_char(s, n);

		if (len == 0 || !cm_text_shows(s, len))
			return false;
		s += len;
		n -= len;
	}
	return true;
}

void cm_text_copy(char *out, size_t size, const char *text)
{
	const uint8_t *s = (const uint8_t *)text;
	size_t n = strlen(text), at = 0;

	while (n > 0) {
		size_t len = cm_text_char(s, n), take = len > 0 ? len : 1;
		bool shows = len > 0 && cm_text_shows(s, len);
		size_t put = shows ? len : 1;

		if (put >= size - at)
			break;
		if (shows)
			memcpy(out + at, s, len);
		else
			out[at] = '?';
		at += put;
		s += take;
		n -= take;
	}
	out[at] = '\0';
}
