#include "files/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS_MIN 15 /* as many always survive a double, so trailing zeros can be left out */
#define DIGITS_MAX 17 /* as many always tell doubles apart */

void number_format(double value, char out[NUMBER_SIZE])
{
    for (int digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
        (void)snprintf(out, NUMBER_SIZE, "%.*g", digits, value);
        if (!isfinite(value) || strtod(out, NULL) == value) {
            return;
        }
    }
}
