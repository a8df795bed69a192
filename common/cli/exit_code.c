#include "cli/exit_code.h"

int exit_code_of(dpot_status status)
{
    switch (status) {
    case DPOT_OK:
        return EXIT_CODE_DONE;
    case DPOT_ERR_ARGUMENT:
        return EXIT_CODE_USAGE;
    case DPOT_ERR_IO:
    case DPOT_ERR_NETWORK:
    case DPOT_ERR_BUSY:
    case DPOT_ERR_SERVER:
    case DPOT_ERR_NO_SPACE:
    case DPOT_ERR_POISONED:
        return EXIT_CODE_IO;
    case DPOT_ERR_STATE:
    case DPOT_ERR_CLOSED:
    case DPOT_ERR_NOT_OPEN:
        return EXIT_CODE_NOT_READY;
    case DPOT_ERR_LEDGER:
        return EXIT_CODE_PRIVACY;
    default:
        break;
    }
    if (status <= -200 && status > -300) {
        return EXIT_CODE_DATA;
    }
    return status <= -300 && status > -400 ? EXIT_CODE_PRIVACY : EXIT_CODE_INTERNAL;
}
