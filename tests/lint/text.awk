# Calls that are banned, reaching into private measures, and comments that are not /* */.
# Looks at code only: the content of comments and strings is blanked first.

function complain(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text
    failed = 1
}

BEGIN {
    n_banned = split("sprintf vsprintf strcpy strcat strtok gets atoi rand alloca system", banned, " ")
}

FNR == 1 { in_comment = 0 }

# Sets `code` to the line without the content of comments, strings and characters.
function strip(line,    i, c, two, quote)
{
    code = ""
    quote = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            if (two == "*/") {
                in_comment = 0
                i++
            }
        } else if (quote != "") {
            if (c == "\\") {
                i++
            } else if (c == quote) {
                quote = ""
            }
        } else if (two == "/*") {
            in_comment = 1
            code = code " "
            i++
        } else if (two == "//") {
            complain("comment: use /* */")
            return
        } else if (c == "\"" || c == "'") {
            quote = c
            code = code c c
        } else {
            code = code c
        }
    }
}

{
    strip($0)
    for (i = 1; i <= n_banned; i++) {
        if ((" " code) ~ ("[^A-Za-z0-9_]" banned[i] "[ \t]*\\(")) {
            complain("banned: " banned[i] "()")
        }
    }
    if (FILENAME !~ /^(common\/(model|mechanism)|tests)\// && \
        (code " ") ~ /(->|\.)measure[^A-Za-z0-9_]/) {
        complain("private: only common/model and common/mechanism reach into .measure")
    }
}

END { exit failed }
