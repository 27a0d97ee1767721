import { type Command, InvalidArgumentError } from 'commander';
import { nearest } from '../../lib/nearest.ts';
import { didYouMean } from '../failure.ts';
import { examples } from '../selection.ts';
import type { Session } from '../session.ts';

/**
 * Each script hands the words before the cursor, the unfinished one last, to `fairway __complete`, and offers what it
 * prints: a candidate a line, with a tab and a description where there is one. `:files` as the only line asks for the
 * shell's own completion of file names.
 */
const scripts = {
  bash: `# fairway completion for bash
_fairway() {
  local words line
  local IFS=$'\\n'
  words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  for line in $(fairway __complete -- "\${words[@]}" 2>/dev/null); do
    if [[ $line == :files ]]; then
      compopt -o default
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done
  # A candidate that ends in a comma or a slash goes on.
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[,/=] ]] && compopt -o nospace
}
complete -F _fairway fairway
`,
  zsh: `#compdef fairway
# fairway completion for zsh
_fairway() {
  local -a lines candidates
  local line
  lines=("\${(@f)$(fairway __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $lines[1] == :files ]]; then
    _files
    return
  fi
  for line in $lines; do
    [[ -n $line ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe fairway candidates
}
compdef _fairway fairway
# Loaded from a file in fpath, this is the function's first call.
[[ $funcstack[1] == _fairway ]] && _fairway
`,
  fish: `# fairway completion for fish
function __fairway_complete
    set -l lines (fairway __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
    if test "$lines[1]" = :files
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $lines
    end
end
complete -c fairway -f -a '(__fairway_complete)'
`,
} as const;

type Shell = keyof typeof scripts;

export function define(command: Command, { io }: Session): void {
  const shells = Object.keys(scripts);
  command
    .argument('<shell>', shells.join(', '), (text: string): Shell => {
      if (Object.hasOwn(scripts, text)) return text as Shell;
      throw new InvalidArgumentError(
        didYouMean(nearest(text, shells)) ?? `There are scripts for ${shells.join(', ')}.`,
      );
    })
    .action((shell: Shell) => io.out.write(scripts[shell]));
  examples(command, [
    'source <(fairway completion bash)',
    'fairway completion zsh > ~/.zfunc/_fairway',
    'fairway completion fish > ~/.config/fish/completions/fairway.fish',
  ]);
}
