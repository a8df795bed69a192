# Completion of dpot, dpotd and dpot-device in bash: the program lists what may follow the words so far;
# where it lists nothing, file names do.
_dpot() {
    local IFS=$'\n'
    # shellcheck disable=SC2207 # IFS splits lines, and no word has a pattern
    COMPREPLY=($(compgen -W "$("$1" completion "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "$2"))
}
complete -o default -F _dpot dpot dpotd dpot-device
