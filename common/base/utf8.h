/* UTF-8 by RFC 3629: nothing overlong, no surrogates, nothing above U+10FFFF. */
#ifndef DPOT_BASE_UTF8_H
#define DPOT_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define DPOT_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* The number of bytes, 1 to 4, of the character at the start of (text, len), and the character in *code
 * unless that is NULL; 0 when there is none. NUL is a character. Of a text that ends in NUL `len` may be SIZE_MAX. */
size_t dpot_utf8_decode(const void *text, size_t len, uint32_t *code);

#endif
