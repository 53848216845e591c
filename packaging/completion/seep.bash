# SPDX-License-Identifier: MIT
# bash completion for seep.  Commands and options are asked from the tool itself, so they cannot be out of date.
_seep()
{
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-}
	local commands
	commands=$("${COMP_WORDS[0]}" help 2>/dev/null | awk '$1 == "seep" && !/  .*--/ && NF > 2 && !seen[$2]++ { print $2 }
		/^examples/ { exit }')

	if [[ $COMP_CWORD == 1 && $word != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word"; compgen -c -- "$word"; compgen -f -- "$word")
		return
	fi
	[[ " $commands " == *[[:space:]]"$command"[[:space:]]* ]] || command=record
	case $word in
	-*)
		mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null |
			grep -oE '^ +(-[a-zA-Z],? ?)?(--[a-z-]+)?' | tr ',' ' ')" -- "$word") ;;
	*)
		case $command in
		report | info) mapfile -t COMPREPLY < <(compgen -f -X '!*.seep' -- "$word"; compgen -d -- "$word") ;;
		help) mapfile -t COMPREPLY < <(compgen -W "$commands $("${COMP_WORDS[0]}" help 2>/dev/null |
			awk 'topics && /^  / { print $1 } /^topics/ { topics = 1 }')" -- "$word") ;;
		*) mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word") ;;
		esac ;;
	esac
}
complete -o filenames -F _seep seep
