/* The three standard file descriptors. */
#ifndef DPOT_CLI_DESCRIPTORS_H
#define DPOT_CLI_DESCRIPTORS_H

/* Call it first in main(). Opens /dev/null on each of the descriptors 0, 1 and 2 that is closed, in
 * the wrong direction, so that reading and writing still fail and no file opened later gets that
 * number. Exits if /dev/null cannot be opened. */
void dpot_descriptors_hold(void);

#endif
