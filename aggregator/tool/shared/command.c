#include "tool/shared/command.h"

void run_put(struct run *run, const char *key, json_t *value)
{
    (void)json_object_set_new(run->result, key, value);
}

void run_put_number(struct run *run, const char *key, double value)
{
    run_put(run, key, json_number(value));
}

void run_put_integer(struct run *run, const char *key, uint64_t value)
{
    run_put(run, key, json_integer((json_int_t)value));
}

void run_put_text(struct run *run, const char *key, const char *value)
{
    run_put(run, key, json_string(value));
}
