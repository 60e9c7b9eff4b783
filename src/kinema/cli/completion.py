"""Completion in bash: commands, options, their choices, names of priors, and file names with spaces in them."""

from kinema.cli.usage import COMMON, options_of

SCRIPT = """\
# kinema completion bash
_kinema() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before= command= choices= index IFS=$'\\n'
  ((COMP_CWORD > 0)) && before=${{COMP_WORDS[COMP_CWORD-1]}}
  for ((index = 1; index < COMP_CWORD; index++)); do
    [[ ${{COMP_WORDS[index]}} == -* ]] || {{ command=${{COMP_WORDS[index]}}; break; }}
  done
  COMPREPLY=()
  if [[ -z $command && $current != -* ]]; then
    COMPREPLY=($(compgen -W $'{commands}' -- "$current"))
    return
  fi
  case "$command $before" in
{values}
  esac
  if [[ -z $choices && $current == -* ]]; then
    case "$command" in
{options}
    *) choices=$'{common}' ;;
    esac
  fi
  if [[ -n $choices ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
    return
  fi
  # Names that are quoted already are left to the shell itself (-o default), which knows how to unquote them.
  [[ $current == *[\\\\\\"\\']* ]] && return
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o default -o bashdefault -F _kinema kinema
"""


def bash_script(commands: dict[str, type], priors: tuple[str, ...]) -> str:
    """The script to be evaluated by a shell: eval "$(kinema completion bash)"."""
    known = {name: options_of(cls) for name, cls in commands.items()}
    values = [
        f"  {_quoted(f'{name} {option}')}) choices=$'{_lines(found)}' ;;"
        for name, options in known.items()
        for option, kind in options.items()
        if (found := priors if option == "--prior" else kind.choices)
    ]
    positional = {"completion": ("bash", "zsh", "fish")}
    values += [f"  {_quoted(f'{name} {name}')}) choices=$'{_lines(words)}' ;;" for name, words in positional.items()]
    options = [f"    {name}) choices=$'{_lines((*names, *COMMON))}' ;;" for name, names in known.items()]
    parts = {"commands": _lines(tuple(commands)), "common": _lines((*COMMON, "--version"))}
    return SCRIPT.format(values="\n".join(values), options="\n".join(options), **parts)


def _lines(words: tuple[str, ...]) -> str:
    return "\\n".join(words)


def _quoted(text: str) -> str:
    return f'"{text}"'
