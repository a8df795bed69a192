/* The three descriptors that every program is born with, or should be. */
#ifndef DPOT_BASE_DESCRIPTORS_H
#define DPOT_BASE_DESCRIPTORS_H

/* First thing in main(): whichever of 0, 1 and 2 was closed by the caller is taken by /dev/null, the
 * wrong way round, so that reading and writing fail as they did and no file that is opened later gets
 * the number. Without /dev/null it ends the process. */
void dpot_descriptors_hold(void);

#endif
