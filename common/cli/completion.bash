# Bash completion of dpot, dpotd and dpot-device. The program lists what may follow the words so
# far, from its tables; <files> and <folders> stand for names that bash completes.
_dpot() {
    local IFS=$'\n'
    local current=$2 before=() words word
    [ "$current" != = ] || current=
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do # bash splits --name=value at the sign
        [ "$word" = = ] || before+=("$word")
    done
    words=$("$1" completion "${before[@]}" 2>/dev/null)
    COMPREPLY=()
    case $words in
    *'<folders>'*) compopt -o dirnames ;;
    *'<files>'*)
        [ "${current:0:1}" = - ] || words=${words//--*$'\n'/}
        compopt -o default
        ;;
    esac
    # shellcheck disable=SC2207 # one word a line, none with a pattern
    COMPREPLY=($(compgen -W "${words//<*>/}" -- "$current"))
}
complete -F _dpot dpot dpotd dpot-device
