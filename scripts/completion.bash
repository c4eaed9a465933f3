# SPDX-License-Identifier: Apache-2.0
# Completion for bash: `source` it, or put it into share/bash-completion/completions/gpumemtrace.
# Commands and options are what `gpumemtrace help` prints, so it knows those of its own version.

_gpumemtrace() {
  local command=run word i
  local current=${COMP_WORDS[COMP_CWORD]}
  local commands
  commands=$("${COMP_WORDS[0]}" help 2> /dev/null | sed -n 's/^  \([a-z]\{3,\}\)  .*/\1/p')
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    [[ $word == -* ]] && continue
    if [[ $i == 1 && " ${commands//$'\n'/ } " == *" $word "* ]]; then
      command=$word
    elif [[ ${COMP_WORDS[i - 1]} != -* && ($command == run || $command == check || $command == record) ]]; then
      # Behind the program its own words follow
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
    fi
  done
  local words=
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    --format) words=$("${COMP_WORDS[0]}" help options 2> /dev/null | sed -n '/^Report formats/,/^$/s/^  \([a-z]*\) .*/\1/p') ;;
    --only | --skip) words=$("${COMP_WORDS[0]}" help findings 2> /dev/null | sed -n 's/^ *\([a-z-]*\)  .*/\1/p') ;;
    help) words=$commands ;;
  esac
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $current == -* ]]; then
    local options
    options=$("${COMP_WORDS[0]}" help "$command" 2> /dev/null | grep -oE '^  (-. \[ )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ $COMP_CWORD == 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current"; compgen -c -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _gpumemtrace gpumemtrace
