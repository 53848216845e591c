# SPDX-License-Identifier: MIT
# fish completion for seep.  Commands and options are asked from the tool itself, so they cannot be out of date.
function __seep_commands
    seep help 2>/dev/null | awk '/^examples/ { exit } /^  seep / { n = $2; $1 = $2 = ""; sub(/^ +/, ""); print n "\t" $0 }'
end
function __seep_options
    set -l words (commandline -opc)
    set -l command record
    if test (count $words) -gt 1; and contains -- $words[2] (__seep_commands | string split -f1 \t)
        set command $words[2]
    end
    seep $command --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]+' | sort -u
end
complete -c seep -n '__fish_is_first_arg' -a '(__seep_commands)'
complete -c seep -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__seep_options)'
