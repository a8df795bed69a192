#include "dpotd/grants.h"

#include "http/linger.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_BESIDE 32          /* standard files, store, listening socket, exports, checkpoints */
#define FILES_PER_THREAD 3       /* of the HTTP library: its epoll set, its wake-up pipe */
#define CONNECTIONS_MIN 8        /* as in the table of keys */
#define CONNECTIONS_PER_THREAD 4 /* below that fewer threads serve the same peers better */
#define SMALL_ADDRESS_SPACE ((uint64_t)4 << 30)
#define BODY_MEMORY_MIN ((uint64_t)16 << 20)
#define JOB_MEMORY_MIN ((uint64_t)64 << 20)
#define CAUSE_SIZE 64

/* A line of `notes` about a key whose value is not the configured one. */
static void note_change(char notes[GRANTS_NOTES_SIZE], const char *cause, const char *key,
                        uint64_t value, uint64_t configured, const char *remedy)
{
    const size_t len = strlen(notes);
    if (value != configured) {
        (void)snprintf(notes + len, GRANTS_NOTES_SIZE - len,
                       "dpotd: %s: %s is %llu instead of %llu%s\n", cause, key,
                       (unsigned long long)value, (unsigned long long)configured, remedy);
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

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

static dpot_status fit_files(struct config *config, char notes[GRANTS_NOTES_SIZE],
                             struct dpot_error *error)
{
    static const char remedy[] = "; raise the hard limit (ulimit -n, LimitNOFILE)";
    char cause[CAUSE_SIZE];
    const uint64_t files = raise_files(config->max_connections + files_beside(config) + LINGER_MAX);
    const unsigned connections = config->max_connections, threads = config->threads;
    while (config->threads > 1 &&
           places(config, files) <
               least(connections, CONNECTIONS_PER_THREAD * (uint64_t)config->threads)) {
        config->threads--;
    }
    config->max_connections = (unsigned)least(places(config, files), connections);
    if (config->max_connections < CONNECTIONS_MIN) {
        return dpot_error_set(
            error, DPOT_ERR_IO, "only %llu open files are allowed and at least %llu are needed%s",
            (unsigned long long)files,
            (unsigned long long)files_beside(config) + CONNECTIONS_MIN + 2, remedy);
    }
    (void)snprintf(cause, sizeof cause, "only %llu open files are allowed",
                   (unsigned long long)files);
    note_change(notes, cause, "max_connections", config->max_connections, connections, remedy);
    note_change(notes, cause, "threads", config->threads, threads, remedy);
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

static uint64_t granted_bytes(void)
{
    uint64_t bytes = least(resource_bytes(RLIMIT_AS), resource_bytes(RLIMIT_DATA));
    bytes = least(bytes, group_bytes("/sys/fs/cgroup/memory.max"));
    bytes = least(bytes, group_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    return least(bytes, machine_bytes());
}

/* What `key` may take: a share of the memory granted. */
static uint64_t fit_bytes(const char *key, uint64_t configured, uint64_t granted, uint64_t share,
                          uint64_t min, char notes[GRANTS_NOTES_SIZE])
{
    char cause[CAUSE_SIZE];
    const uint64_t most = granted / share > min ? granted / share : min;
    const uint64_t bytes = least(configured, most);
    (void)snprintf(cause, sizeof cause, "only %llu MiB of memory are granted",
                   (unsigned long long)(granted >> 20));
    note_change(notes, cause, key, bytes, configured, "");
    return bytes;
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

dpot_status grants_fit(struct config *config, char notes[GRANTS_NOTES_SIZE],
                       struct dpot_error *error)
{
    notes[0] = '\0';
    const uint64_t granted = granted_bytes();
    spare_addresses();
    config->max_body_memory_bytes = (size_t)fit_bytes(
        "max_body_memory_bytes", config->max_body_memory_bytes, granted, 4, BODY_MEMORY_MIN, notes);
    config->job_memory_bytes =
        fit_bytes("job_memory_bytes", config->job_memory_bytes, granted, 2, JOB_MEMORY_MIN, notes);
    return fit_files(config, notes, error);
}
