# Who may include whom, and the doors of third-party headers (common/README.md has the picture).
#   awk -v list=FILE -f layers.awk files...     `list` names every file of the tree, one a line

function allow(room, rooms) { allowed[room] = " api " rooms " " room " " }

# A third-party header (a regular expression) and the files that may include it.
function door(header, files)
{
    n_doors++
    door_header[n_doors] = header
    door_files[n_doors] = files
}

BEGIN {
    common = "base model ot mechanism"
    all_aggregator = "account audit solve generator store central files pool campaign jobs http"
    allow("api", "")
    allow("base", "")
    allow("model", "base")
    allow("ot", "base model")
    allow("mechanism", "base model ot")
    allow("proto", "base model")
    allow("client", common " proto")
    allow("client-tool", common " proto client")
    allow("files", "base")
    allow("account", "base model mechanism")
    allow("audit", common " account")
    allow("solve", "base ot")
    allow("generator", common " proto solve files")
    allow("central", "base model ot solve")
    allow("store", "base model")
    allow("campaign", common " proto store files account")
    allow("pool", common " proto store campaign")
    allow("jobs", common " proto solve generator pool store files")
    allow("http", common " proto jobs campaign pool store files")
    allow("main", common " proto " all_aggregator)
    allow("tool", common " proto main " all_aggregator)

    # Single headers beyond the table: a room that may include them.
    extra["files", "common/model/measure.h"] = 1
    extra["central", "common/mechanism/u128.h"] = 1
    extra["pool", "aggregator/json/json.h"] = 1
    extra["proto", "common/mechanism/mechanism.h"] = 1
    extra["solve", "common/mechanism/noise_density.h"] = 1
    extra["tool", "client/include/dpot/dpot.h"] = 1
    extra["tool", "client/src/simulation.h"] = 1

    door("^curl/", "^client/src/transport_curl\\.c$")
    door("^sqlite3\\.h$", "^aggregator/store/sqlite_connection\\.h$")
    door("^libpq", "^aggregator/store/postgres\\.c$")
    door("^(cblas|openblas_config|lapacke)\\.h$", "^common/ot/linalg_openblas\\.c$")
    door("\\.pb-c\\.h$", "^proto/wire_([a-z_]*\\.c|vector\\.h)$")
    door("^protobuf-c/", "^proto/message\\.h$")
    door("^sodium(\\.h|/)", "^common/base/(crypto|rng|rng_sodium|rng_seeded)\\.c$")
    door("^microhttpd\\.h$", "^aggregator/http/(server\\.c|(exchange|head)\\.[ch])$")
    door("^gnutls/", "^aggregator/http/(certificate|last_word)\\.c$")
    door("^jansson\\.h$", "^aggregator/files/json\\.[ch]$")
    door("^zlib\\.h$", "^aggregator/files/gzip\\.c$")
    door("^base/splitmix\\.h$", "^(aggregator|tests)/") # not random enough for a device
    door("^(cairo|fontconfig/)", "^aggregator/files/picture_cairo\\.c$")

    system_headers = " assert ctype errno fenv float inttypes limits locale math setjmp signal" \
        " stdarg stdatomic stdbool stddef stdint stdio stdlib string time wchar dirent dlfcn" \
        " fcntl fnmatch ftw getopt glob grp libgen netdb poll pthread pwd regex sched semaphore" \
        " strings syslog termios unistd arpa/inet net/if netinet/in netinet/tcp "

    while ((getline line < list) > 0) {
        exists[line] = 1
    }
    n_roots = split(" common/ common/include/ client/include/ client/src/ aggregator/ tests/", \
                    roots, " ")
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

function room_of(path,    parts, n)
{
    n = split(path, parts, "/")
    if (path ~ /^common\/include\//) {
        return "api"
    }
    if (path ~ /^common\//) {
        return parts[2]
    }
    if (path ~ /^client\/tool\//) {
        return "client-tool"
    }
    if (path ~ /^aggregator\//) {
        return n == 2 ? "main" : parts[2]
    }
    return parts[1]
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
    from = room_of(FILENAME)
    to = room_of(path)
    if (!(from in allowed)) {
        complain("layer: there is no room " from)
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
