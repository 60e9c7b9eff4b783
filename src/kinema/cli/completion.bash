# kinema completion bash
_kinema() {
  local current=${COMP_WORDS[COMP_CWORD]} before= command= choices= index IFS=$'\n'
  ((COMP_CWORD > 0)) && before=${COMP_WORDS[COMP_CWORD-1]}
  for ((index = 1; index < COMP_CWORD; index++)); do
    [[ ${COMP_WORDS[index]} == -* ]] || { command=${COMP_WORDS[index]}; break; }
  done
  COMPREPLY=()
  if [[ -z $command && $current != -* ]]; then
    COMPREPLY=($(compgen -W $'@COMMANDS@' -- "$current"))
    return
  fi
  case "$command $before" in
@VALUES@
  esac
  if [[ -z $choices && $current == -* ]]; then
    case "$command" in
@OPTIONS@
    *) choices=$'@COMMON@' ;;
    esac
  fi
  if [[ -n $choices ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
    return
  fi
  # Names that are quoted already are left to the shell itself (-o default), which knows how to unquote them.
  [[ $current == *[\\\"\']* ]] && return
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$current"))
}
complete -o default -o bashdefault -F _kinema kinema
