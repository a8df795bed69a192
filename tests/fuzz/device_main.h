/* Included before every source of dpot-device that the fuzz targets link: renames its main(). */
#ifndef DPOT_TESTS_FUZZ_DEVICE_MAIN_H
#define DPOT_TESTS_FUZZ_DEVICE_MAIN_H

int dpot_device_main(int argc, char **argv);

#define main dpot_device_main

#endif
