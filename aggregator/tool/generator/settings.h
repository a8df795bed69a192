/* The options of dpot generator train that are settings of a training. */
#ifndef DPOT_TOOL_GENERATOR_SETTINGS_H
#define DPOT_TOOL_GENERATOR_SETTINGS_H

#include "tool/shared/command.h"
#include "json/json.h"

/* Puts those that were given into the object, as the JSON that jobs take too: one reader
 * (generator/settings.h) checks both. Exit code 2 for what is no number or out of range. */
DPOT_WARN_UNUSED dpot_status generator_settings_given(struct run *run, json_t *given);

#endif
