/* Numbers as text that people read and programs read back. */
#ifndef DPOT_FILES_NUMBER_H
#define DPOT_FILES_NUMBER_H

#define NUMBER_SIZE 32 /* bytes that hold any of them, with the NUL */

/* The shortest decimal of 15 to 17 digits that strtod reads back to the same bits: "39.89", not
 * "39.890000000000001". NaN and the infinities are "nan", "inf" and "-inf". */
void number_format(double value, char out[NUMBER_SIZE]);

#endif
