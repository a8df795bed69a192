# The modules that each module may include, and the files that may include third-party headers
# (common/README.md has the picture).
#   awk -v list=FILE -f layers.awk files...     `list` names every file of the tree, one a line

# A row: a module (its folder) and the modules that it may include. A row names only rows above it,
# so that no two modules can include each other.
function allow(module, modules,    names, n, i)
{
    n = split(modules, names, " ")
    for (i = 1; i <= n; i++) {
        if (!(names[i] in allowed)) {
            printf "layers.awk: %s may include %s, which has no row above\n", module, names[i]
            failed = 1
        }
    }
    allowed[module] = " " modules " " module " "
}

# A third-party header (a regular expression) and the files that may include it.
function door(header, files)
{
    n_doors++
    door_header[n_doors] = header
    door_files[n_doors] = files
}

BEGIN {
    base = "common/include common/base"
    common = base " common/model common/ot common/mechanism"
    run = "aggregator/solve/run"
    transport = run " aggregator/solve/transport"
    server = "aggregator/store aggregator/campaign aggregator/pool"
    api = "common/include client/include"

    allow("common/include", "")
    allow("common/base", "common/include")
    allow("common/model", base)
    allow("common/ot", base " common/model")
    allow("common/mechanism", base " common/model common/ot")
    allow("common/files", base)
    allow("common/cli", base " common/files")
    allow("proto", base " common/model")

    allow("client/include", "common/include")
    allow("client/doc", api)
    allow("client/doc/examples", api)
    allow("client/src/platform", base " client/include")
    allow("client/src/storage", common " proto client/include")
    allow("client/src", common " proto client/include client/src/storage")
    allow("client/src/settings", common " client/include client/src/storage client/src")
    allow("client/tool", common " common/files common/cli client/include client/src/storage")

    allow("aggregator/json", base " common/files")
    allow("aggregator/picture", base " common/files")
    allow("aggregator/account", base " common/model common/mechanism")
    allow("aggregator/audit", common " aggregator/account")
    allow("aggregator/solve/run", base)
    allow("aggregator/solve/transport", base " common/ot " run)
    allow("aggregator/solve/projection", base " common/ot " transport)
    allow("aggregator/solve/base_measure", base " common/ot " run)
    allow("aggregator/solve/barycenter", base " common/ot " transport)
    allow("aggregator/solve/estimate", base " common/ot " run)
    allow("aggregator/solve/learn", base " common/ot " transport)
    solve = transport " aggregator/solve/projection aggregator/solve/base_measure" \
        " aggregator/solve/barycenter aggregator/solve/estimate aggregator/solve/learn"
    allow("aggregator/central", base " common/model common/ot " transport)
    allow("aggregator/generator", common " proto common/files aggregator/json " run \
          " aggregator/solve/learn")
    allow("aggregator/store", base " common/model common/files")
    allow("aggregator/campaign", common " proto common/files aggregator/json aggregator/account" \
          " aggregator/store")
    allow("aggregator/forecast", common " aggregator/account aggregator/campaign " transport \
          " aggregator/solve/estimate")
    allow("aggregator/pool", common " proto aggregator/store aggregator/campaign")
    allow("aggregator/jobs", common " proto common/files aggregator/json " solve \
          " aggregator/generator aggregator/store aggregator/pool")
    allow("aggregator/http", common " proto common/files aggregator/json " server \
          " aggregator/jobs")
    allow("aggregator/keys", base " common/files aggregator/pool")
    allow("aggregator/dpotd", base " common/files common/cli aggregator/json " server \
          " aggregator/jobs aggregator/http aggregator/keys")

    tool = common " common/files common/cli client/include proto aggregator/json" \
        " aggregator/account " transport " aggregator/campaign"
    allow("aggregator/tool/shared", tool)
    tool = tool " aggregator/tool/shared"
    allow("aggregator/tool/transport", tool " aggregator/solve/projection")
    allow("aggregator/tool/base_measure", tool " aggregator/solve/base_measure")
    allow("aggregator/tool/barycenter", tool " aggregator/solve/barycenter aggregator/pool" \
          " aggregator/jobs")
    allow("aggregator/tool/estimate", tool " aggregator/solve/estimate aggregator/pool")
    allow("aggregator/tool/account", tool)
    allow("aggregator/tool/central", tool " aggregator/central aggregator/solve/barycenter")
    allow("aggregator/tool/simulate", tool " aggregator/pool")
    allow("aggregator/tool/audit", tool " aggregator/audit aggregator/pool aggregator/tool/simulate")
    allow("aggregator/tool/plan", tool " aggregator/forecast")
    allow("aggregator/tool/picture", tool " aggregator/picture")
    allow("aggregator/tool/generator", tool " aggregator/generator aggregator/forecast" \
          " aggregator/solve/estimate aggregator/solve/learn aggregator/tool/picture")
    allow("aggregator/tool/admin", tool " aggregator/pool aggregator/generator")
    allow("aggregator/tool", tool)

    # Single headers beyond the table, each with the module that may include it.
    extra["proto", "common/mechanism/mechanism.h"] = 1
    extra["aggregator/central", "common/mechanism/u128.h"] = 1
    extra["aggregator/pool", "aggregator/json/json.h"] = 1
    extra["aggregator/solve/estimate", "common/mechanism/noise_density.h"] = 1
    extra["aggregator/tool/simulate", "client/src/simulation.h"] = 1
    extra["aggregator/tool/audit", "client/src/simulation.h"] = 1

    door("^curl/", "^client/src/platform/transport_curl\\.c$")
    door("^sqlite3\\.h$", "^aggregator/store/sqlite_connection\\.h$")
    door("^(cblas|openblas_config|lapacke)\\.h$", "^common/ot/linalg_openblas\\.c$")
    door("\\.pb-c\\.h$", "^(proto/wire_([a-z_]*\\.c|vector\\.h)|tests/support/batch_schema\\.c)$")
    door("^protobuf-c/", "^proto/message\\.h$")
    door("^sodium(\\.h|/)", "^common/base/(crypto|random_hook|rng|rng_sodium|rng_seeded)\\.c$")
    door("^microhttpd\\.h$", "^aggregator/http/(server\\.c|(exchange|head)\\.[ch])$")
    door("^gnutls/", "^aggregator/http/certificate\\.c$")
    door("^jansson\\.h$", "^aggregator/json/json\\.[ch]$")
    door("^malloc\\.h$", "^aggregator/dpotd/grants\\.c$")
    door("^zlib\\.h$", "^common/files/gzip\\.c$")
    door("^zip\\.h$", "^common/files/npz\\.c$")
    door("^base/splitmix\\.h$", "^(aggregator|tests)/") # not random enough for a device
    door("^(cairo|fontconfig/)", "^aggregator/picture/picture_cairo\\.c$")

    system_headers = " assert ctype errno fenv float inttypes limits locale math setjmp signal" \
        " stdarg stdatomic stdbool stddef stdint stdio stdlib string time wchar dirent dlfcn" \
        " fcntl fnmatch ftw getopt glob grp libgen netdb poll pthread pwd regex sched semaphore" \
        " strings syslog termios unistd arpa/inet net/if netinet/in netinet/tcp "

    while ((getline line < list) > 0) {
        exists[line] = 1
        n_sources[module_of(line)]++
    }
    for (folder in n_sources) {
        if (n_sources[folder] > 40) {
            printf "%s: layer: %d sources, at most 40: divide it\n", folder, n_sources[folder]
            failed = 1
        }
    }
    n_roots = split("common/ common/include/ client/include/ client/src/ aggregator/ tests/", roots, " ")
}

function complain(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text
    failed = 1
}

# "a/b/../c" -> "a/c"
function normalise(path)
{
    while (match(path, /[^\/]+\/\.\.\//)) {
        path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
    }
    return path
}

# The file of this tree that `header` names when included from `from`; "" for none.
function resolve(from, header,    dir, path, i)
{
    dir = from
    sub(/[^\/]*$/, "", dir)
    path = normalise(dir header)
    if (path in exists) {
        return path
    }
    if (header in exists) {
        return header
    }
    for (i = 1; i <= n_roots; i++) {
        path = normalise(roots[i] header)
        if (path in exists) {
            return path
        }
    }
    return ""
}

# The folder of a file; the installed headers' include/dpot is include.
function module_of(path)
{
    sub(/\/[^\/]*$/, "", path)
    sub(/\/include\/dpot$/, "/include", path)
    return path
}

function check_door(header,    i)
{
    for (i = 1; i <= n_doors; i++) {
        if (header ~ door_header[i]) {
            if (FILENAME !~ door_files[i]) {
                complain("door: <" header "> may be included by " door_files[i] " only")
            }
            return 1
        }
    }
    return 0
}

function is_system(header,    name)
{
    name = header
    sub(/\.h$/, "", name)
    return header ~ /^sys\// || index(system_headers, " " name " ") > 0
}

function check_layer(header,    path, from, to)
{
    path = resolve(FILENAME, header)
    if (path == "") {
        return 0
    }
    from = module_of(FILENAME)
    to = module_of(path)
    if (!(from in allowed)) {
        complain("layer: there is no module " from)
    } else if (index(allowed[from], " " to " ") == 0 && !((from, path) in extra)) {
        complain("layer: " from " may not include " path)
    }
    return 1
}

FILENAME ~ /^tests\// { next }

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    is_quoted = $0 ~ /include[ \t]*"/
    header = $0
    sub(/^[^"<]*["<]/, "", header)
    sub(/[">].*$/, "", header)
    if (!check_door(header) && !check_layer(header) && !is_quoted && !is_system(header)) {
        complain("door: <" header "> has no door: name the files that may include it in layers.awk")
    }
}

END { exit failed }
