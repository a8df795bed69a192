#include "tool/generator/settings.h"

#include "generator/atoms.h"
#include "generator/settings.h"
#include "solve/learn/architecture.h"
#include "tool/shared/options.h"

static void put_text(json_t *given, const struct run *run, const char *option, const char *key)
{
    const char *text = option_text(run, option);
    if (text) {
        (void)json_object_set_new(given, key, json_string(text));
    }
}

dpot_status generator_settings_given(struct run *run, json_t *given)
{
    static const struct {
        const char *option, *key;
        uint64_t min, max;
    } integers[] = {
        {"latent-dim", "latent_dim", 1, 4096},       {"batch", "batch", 1, SETTINGS_BATCH_MAX},
        {"pool-batch", "pool_batch", 1, ATOMS_MOST}, {"atoms", "atoms", 1, ATOMS_MOST},
        {"sweeps", "sinkhorn", 1, 100000},           {"steps", "steps", 1, SETTINGS_STEPS_MAX},
    };
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof integers / sizeof integers[0]; i++) {
        uint64_t value = 0;
        status = option_integer(run, integers[i].option, integers[i].min, integers[i].max, &value);
        if (status == DPOT_OK && option_is_given(run, integers[i].option)) {
            (void)json_object_set_new(given, integers[i].key, json_integer((json_int_t)value));
        }
    }
    static const struct {
        const char *option, *key;
        double min, max;
    } numbers[] = {
        {"learning-rate", "learning_rate", SETTINGS_RATE_MIN, SETTINGS_RATE_MAX},
        {"regularization", "regularization", SETTINGS_REGULARIZATION_MIN,
         SETTINGS_REGULARIZATION_MAX},
    };
    for (size_t i = 0; status == DPOT_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        double value = 0;
        status = option_number(run, numbers[i].option, numbers[i].min, numbers[i].max, &value);
        if (status == DPOT_OK && option_is_given(run, numbers[i].option)) {
            (void)json_object_set_new(given, numbers[i].key, json_real(value));
        }
    }
    if (status == DPOT_OK && option_is_given(run, "arch") &&
        architecture_check_name(option_text(run, "arch"), &run->error) != DPOT_OK) {
        run->forced_exit = EXIT_CODE_USAGE;
        return dpot_error_prefix(&run->error, DPOT_ERR_ARGUMENT, "--arch");
    }
    put_text(given, run, "arch", "arch");
    put_text(given, run, "optimizer", "optimizer");
    put_text(given, run, "schedule", "schedule");
    put_text(given, run, "noise-cost", "cost");
    if (run->has_seed) {
        (void)json_object_set_new(given, "seed", json_integer((json_int_t)(run->seed & INT64_MAX)));
    }
    return status;
}
