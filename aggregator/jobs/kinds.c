#include "files/spelling.h"
#include "jobs/job.h"

#include <stdio.h>
#include <string.h>

static const struct job_kind *const table[] = {&job_base_measure, &job_estimate, &job_generator,
                                               &job_barycenter};
#define N_KINDS (sizeof table / sizeof table[0])

static dpot_status refuse(const char *name, struct dpot_error *error)
{
    char names[160], hint[SPELLING_HINT_SIZE];
    struct spelling spelling = {.text = name};
    int len = 0;
    names[0] = '\0';
    for (size_t i = 0; i < N_KINDS && len >= 0 && (size_t)len < sizeof names; i++) {
        len += snprintf(names + len, sizeof names - (size_t)len, "%s%s",
                        i == 0             ? ""
                        : i + 1 == N_KINDS ? " or "
                                           : ", ",
                        table[i]->name);
        spelling_offer(&spelling, table[i]->name, strlen(table[i]->name));
    }
    spelling_hint(&spelling, "", hint);
    return dpot_error_set(error, DPOT_ERR_RANGE, "kind is \"%.40s\": choose %s%s", name, names,
                          hint);
}

dpot_status job_kind_find(const char *name, const struct job_kind **kind, struct dpot_error *error)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        if (strcmp(table[i]->name, name) == 0) {
            *kind = table[i];
            return DPOT_OK;
        }
    }
    *kind = NULL;
    return refuse(name, error);
}
