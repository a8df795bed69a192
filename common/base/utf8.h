/* UTF-8 by RFC 3629: nothing overlong, no surrogates, nothing above U+10FFFF. */
#ifndef DPOT_BASE_UTF8_H
#define DPOT_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define DPOT_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Decodes the character at the start of (text, len): returns its bytes, 1 to 4, or 0 if there is
 * none. *code is the character; NULL: not wanted. NUL is a character. For a text that ends in NUL
 * `len` may be SIZE_MAX. */
size_t dpot_utf8_decode(const void *text, size_t len, uint32_t *code);

/* Replaces control characters, and bytes that are no UTF-8, by '?', in place: what others wrote can
 * then neither steer a terminal nor break a line. */
void dpot_utf8_make_printable(char *text);

#endif
