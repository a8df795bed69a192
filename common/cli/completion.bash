# Bash completion of dpot, dpotd and dpot-device. The program lists what may follow the words so
# far, from its tables; <files> and <folders> stand for names that bash completes.
_dpot() {
    local IFS=$'\n'
    local before=() words word current head i
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do # bash splits --name=value and a:b at the signs
        i=$((${#before[@]} - 1))
        if [ "$word" != : ] && [[ $i -lt 0 || ${before[i]} != *: ]]; then
            before+=("$word")
        elif [ $i -ge 0 ]; then
            before[i]+=$word
        fi
    done
    i=$((${#before[@]} - 1))
    current=${before[i]}
    unset "before[i]"
    head=${current%"$2"} # what bash completes apart, up to a colon
    case $current in
    =) current='' head='' ;;
    *:) head=$current ;;
    esac
    for i in "${!before[@]}"; do
        [ "${before[i]}" != = ] || unset "before[i]"
    done
    words=$("$1" completion "${before[@]}" 2>/dev/null)
    COMPREPLY=()
    case $words in
    *'<folders>'*) compopt -o dirnames ;;
    *'<files>'*)
        [ "${current:0:1}" = - ] || words=${words//--*$'\n'/}
        if [ -n "$head" ]; then
            compopt -o filenames
            words+=$'\n'$(compgen -f -- "$current")
        else
            compopt -o default
        fi
        ;;
    esac
    # shellcheck disable=SC2207 # one word a line, none with a pattern
    COMPREPLY=($(compgen -W "${words//<*>/}" -- "$current"))
    COMPREPLY=("${COMPREPLY[@]#"$head"}")
}
complete -F _dpot dpot dpotd dpot-device
