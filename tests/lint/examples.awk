# Makes one C file of the examples in the comments of headers, a function for each header. An
# example is a run of lines that begin with " *" and five spaces and contain a statement. A remark
# may follow a statement after two spaces. "= ..." stands for any value; other lines with "(...)"
# are skipped.
#   awk -f examples.awk examples.txt HEADER...

FILENAME == ARGV[1] {
    colon = index($0, ":")
    parameters[substr($0, 1, colon - 1)] = substr($0, colon + 2)
    next
}
FNR == 1 { end_example() }
/^ \*     +[^ ]/ && (n > 0 || /^ \*     [^ ]/) {
    text = substr($0, 8)
    sub(/ *\*\/$/, "", text)
    if (text ~ /^ *[a-z_].*[(={].*;(  .*)?$/ || text ~ /^struct [a-z_]+ \*?[a-z_]+;/) {
        is_code = 1
    }
    line[++n] = text
    header = FILENAME
    last = FNR
    next
}
{ end_example() }
END {
    end_example()
    print n_functions ? "    return DPOT_OK;\n}" : ""
    exit failed
}

function begin_function(    path)
{
    if (!(header in parameters)) {
        print "examples: examples.txt has no variables for the example of " header >"/dev/stderr"
        failed = 1
    }
    path = header
    sub(/^(common|aggregator)\/|^.*\/include\//, "", path)
    print n_functions++ ? "    return DPOT_OK;\n}" : ""
    print "#include \"" path "\""
    print "dpot_status example_" n_functions "(" parameters[header] ");"
    print "dpot_status example_" n_functions "(" parameters[header] ")\n{"
    current = header
}

function code(text)
{
    sub(/;  .*/, ";", text)
    gsub(/= \.\.\./, "= 0", text)
    if (text ~ /\(\.\.\.|, \.\.\.\)/) {
        return ""
    }
    gsub(/ ?\.\.\. ?/, " ", text)
    if (text !~ /[;{}&|,]$/) {
        sub(/   .*/, "", text)
        text = text ";"
    }
    return text
}

function end_example(    i)
{
    if (is_code && current != header) {
        begin_function()
    }
    for (i = 1; is_code && i <= n; i++) {
        print "#line " last - n + i " \"" header "\"\n" code(line[i])
    }
    n = is_code = 0
}
