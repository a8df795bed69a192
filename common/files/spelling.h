/* "Did you mean": the known name that is nearest to a mistyped one. */
#ifndef DPOT_FILES_SPELLING_H
#define DPOT_FILES_SPELLING_H

#include <stddef.h>

#define SPELLING_LEN_MAX 63   /* longer names have no neighbour */
#define SPELLING_HINT_SIZE 96 /* bytes of a hint, with the NUL */

/* The best candidate so far. Start with {.text = what was typed}. */
struct spelling {
    const char *text;
    size_t len;       /* of `text`; 0: all of it */
    const char *best; /* borrowed; NULL: none is near */
    size_t best_len;  /* of `best` */
    size_t distance;  /* of `best` */
};

/* Changes from a to b: letters inserted, removed, replaced, or two neighbours swapped. */
size_t spelling_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/* Offers a known name of `len` bytes; it must outlive `spelling`. The first of the nearest wins. A
 * name is near when at most a third of the letters typed differ, or when it begins with them. */
void spelling_offer(struct spelling *spelling, const char *name, size_t len);

/* Writes " (did you mean PREFIXbest?)", or "" when no name is near. */
void spelling_hint(const struct spelling *spelling, const char *prefix,
                   char out[SPELLING_HINT_SIZE]);

#endif
