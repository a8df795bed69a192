/* The options of dpot generator train that are training settings. */
#ifndef DPOT_TOOL_GENERATOR_SETTINGS_H
#define DPOT_TOOL_GENERATOR_SETTINGS_H

#include "tool/shared/command.h"
#include "json/json.h"

/* Adds the given options to the object, in the JSON form of jobs, so that generator/settings.h
 * validates both. Exit code 2: not a number, or out of range. */
DPOT_WARN_UNUSED dpot_status generator_settings_given(struct run *run, json_t *given);

#endif
