#include "dpotd/grants.h"

#include "http/linger.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_BESIDE 32          /* standard files, store, listening socket, exports, checkpoints */
#define FILES_PER_THREAD 3       /* of the HTTP library: its epoll set, its wake-up pipe */
#define CONNECTIONS_MIN 8        /* as in the table of keys */
#define CONNECTIONS_PER_THREAD 4 /* below that fewer threads serve the same peers better */
#define SMALL_ADDRESS_SPACE ((uint64_t)4 << 30)
#define BODY_MEMORY_MIN ((uint64_t)16 << 20)
#define JOB_MEMORY_MIN ((uint64_t)64 << 20)

#define SENTENCE_SIZE 300

/* ---- open files ---- */

static uint64_t files_beside(const struct config *config)
{
    return FILES_BESIDE + FILES_PER_THREAD * (uint64_t)config->threads;
}

/* The number of open files allowed, raised to `wanted` if it may be. */
static uint64_t raise_files(uint64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return wanted;
    }
    if (limit.rlim_cur < wanted) {
        const struct rlimit raised = {limit.rlim_max < wanted ? limit.rlim_max : wanted,
                                      limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) {
            limit = raised;
        }
    }
    return limit.rlim_cur;
}

static uint64_t places(const struct config *config, uint64_t files)
{
    const uint64_t beside = files_beside(config);
    const uint64_t n = files > beside ? files - beside : 0;
    return n > 0 ? n - linger_sockets(n) : 0;
}

static dpot_status fit_files(struct config *config, void (*note)(const char *),
                             struct dpot_error *error)
{
    char sentence[SENTENCE_SIZE];
    const uint64_t files = raise_files(config->max_connections + files_beside(config) + LINGER_MAX);
    const unsigned before = config->max_connections, threads = config->threads;
    if (places(config, files) >= before) {
        return DPOT_OK;
    }
    while (config->threads > 1 &&
           places(config, files) < CONNECTIONS_PER_THREAD * (uint64_t)config->threads) {
        config->threads--;
    }
    if (places(config, files) < CONNECTIONS_MIN) {
        return dpot_error_set(error, DPOT_ERR_IO,
                              "only %llu open files are allowed and at least %llu are needed: "
                              "raise the hard limit (ulimit -n, LimitNOFILE)",
                              (unsigned long long)files,
                              (unsigned long long)files_beside(config) + CONNECTIONS_MIN + 2);
    }
    config->max_connections = (unsigned)places(config, files);
    (void)snprintf(sentence, sizeof sentence,
                   "only %llu open files are allowed: max_connections is %u instead of %u and "
                   "threads %u instead of %u; raise the hard limit (ulimit -n, LimitNOFILE)",
                   (unsigned long long)files, config->max_connections, before, config->threads,
                   threads);
    note(sentence);
    return DPOT_OK;
}

/* ---- memory ---- */

static uint64_t resource_bytes(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                               : UINT64_MAX;
}

/* A limit of the control group; none: UINT64_MAX. */
static uint64_t group_bytes(const char *path)
{
    unsigned long long bytes = 0;
    FILE *stream = fopen(path, "r");
    const int n = stream ? fscanf(stream, "%llu", &bytes) : 0; /* "max": none */
    if (stream) {
        (void)fclose(stream);
    }
    return n == 1 ? bytes : UINT64_MAX;
}

static uint64_t machine_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t granted_bytes(void)
{
    uint64_t bytes = least(resource_bytes(RLIMIT_AS), resource_bytes(RLIMIT_DATA));
    bytes = least(bytes, group_bytes("/sys/fs/cgroup/memory.max"));
    bytes = least(bytes, group_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    return least(bytes, machine_bytes());
}

/* What `key` may take: a share of the memory granted. */
static uint64_t fit_bytes(const char *key, uint64_t configured, uint64_t granted, uint64_t share,
                          uint64_t min, void (*note)(const char *))
{
    char sentence[SENTENCE_SIZE];
    const uint64_t most = granted / share > min ? granted / share : min;
    if (configured <= most) {
        return configured;
    }
    (void)snprintf(sentence, sizeof sentence,
                   "only %llu MiB of memory are granted: %s is %llu instead of %llu",
                   (unsigned long long)(granted >> 20), key, (unsigned long long)most,
                   (unsigned long long)configured);
    note(sentence);
    return most;
}

/* glibc gives each thread an arena that reserves up to 128 MiB of addresses. In a small address
 * space they take what the stacks of later threads need. */
static void spare_addresses(void)
{
#ifdef M_ARENA_MAX
    if (resource_bytes(RLIMIT_AS) < SMALL_ADDRESS_SPACE) {
        (void)mallopt(M_ARENA_MAX, 1);
    }
#endif
}

dpot_status grants_fit(struct config *config, void (*note)(const char *sentence),
                       struct dpot_error *error)
{
    const uint64_t granted = granted_bytes();
    spare_addresses();
    config->max_body_memory_bytes = (size_t)fit_bytes(
        "max_body_memory_bytes", config->max_body_memory_bytes, granted, 4, BODY_MEMORY_MIN, note);
    config->job_memory_bytes =
        fit_bytes("job_memory_bytes", config->job_memory_bytes, granted, 2, JOB_MEMORY_MIN, note);
    return fit_files(config, note, error);
}
