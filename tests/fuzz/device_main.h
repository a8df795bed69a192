/* Put before every source of dpot-device that the fuzz targets link: its main() has another name. */
#ifndef DPOT_TESTS_FUZZ_DEVICE_MAIN_H
#define DPOT_TESTS_FUZZ_DEVICE_MAIN_H

int dpot_device_main(int argc, char **argv);

#define main dpot_device_main

#endif
