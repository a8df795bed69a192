# Bash completion of dpot, dpotd and dpot-device: the program lists what may follow the words so
# far; where it lists nothing, bash offers file names.
_dpot() {
    local IFS=$'\n'
    local words
    words=$("$1" completion "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
    # shellcheck disable=SC2207 # one word a line, none with a pattern
    COMPREPLY=($(compgen -W "$words" -- "$2"))
}
complete -o default -F _dpot dpot dpotd dpot-device
