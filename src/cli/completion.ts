import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

interface CompletedOption {
  name: string;
  description: string;
  takesValue: boolean;
  values: readonly string[];
}

interface CompletedCommand {
  name: string;
  description: string;
  options: CompletedOption[];
  /** The words that its argument may be. */
  words: readonly string[];
}

/** A script that completes commands, options and their values in a shell. File names are completed everywhere else. */
export function completionScript(program: Command, shell: Shell): string {
  return SCRIPTS[shell](program.commands.map(completed));
}

function completed(command: Command): CompletedCommand {
  return {
    name: command.name(),
    description: command.description(),
    options: [
      ...command.options.map(({ long, description, required, optional, argChoices = [] }) => ({
        name: long ?? '',
        description,
        takesValue: required || optional,
        values: argChoices,
      })),
      { name: '--help', description: 'display help for command', takesValue: false, values: [] },
    ],
    words: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  };
}

const SCRIPTS: Record<Shell, (commands: CompletedCommand[]) => string> = {
  bash: (commands) => `# For ~/.bashrc: source <(videogen completion bash)
_videogen() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${namesOf(commands)} --help --version"
  else
    case "\${COMP_WORDS[1]} $previous" in
${valueCases(commands)}      *)
        case "\${COMP_WORDS[1]}" in
${commands.map(({ name, options, words }) => `          ${name}) words="${[...words, ...namesOf(options).split(' ')].join(' ')}" ;;`).join('\n')}
        esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _videogen videogen`,

  zsh: (commands) => `#compdef videogen
# For ~/.zshrc, after compinit: source <(videogen completion zsh)
_videogen() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${commands.map(({ name, description }) => `      ${quoted(`${name}:${description}`)}`).join('\n')}
    )
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map(zshCase).join('\n')}
  esac
}
compdef _videogen videogen`,

  fish: (commands) => `# For ~/.config/fish/completions/videogen.fish
complete -c videogen -n __fish_use_subcommand -f
${commands.map(fishLines).join('\n')}`,
};

const namesOf = (named: readonly { name: string }[]) => named.map(({ name }) => name).join(' ');

/** After an option that takes a value come its values, or file names. */
function valueCases(commands: readonly CompletedCommand[]): string {
  return commands
    .flatMap(({ name: command, options }) =>
      options
        .filter(({ takesValue }) => takesValue)
        .map(({ name, values }) => `      "${command} ${name}") words="${values.join(' ')}" ;;\n`),
    )
    .join('');
}

function zshCase({ name, options, words }: CompletedCommand): string {
  const specs = options.map(({ name: option, description, takesValue, values }) => {
    const value = values.length > 0 ? `:value:(${values.join(' ')})` : ':value:_files';
    return quoted(`*${option}[${description.replace(/[[\]:\\]/g, '\\$&')}]${takesValue ? value : ''}`);
  });
  const rest = quoted(words.length > 0 ? `*:word:(${words.join(' ')})` : '*:file:_files');
  return `    ${name}) shift words; (( CURRENT-- )); _arguments ${[...specs, rest].join(' ')} ;;`;
}

function fishLines({ name, description, options, words }: CompletedCommand): string {
  const within = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
  const argument =
    words.length > 0 ? [`complete -c videogen ${within} -f -a ${quoted(words.join(' '))}`] : [];
  const lines = options.map(({ name: option, description: about, takesValue, values }) => {
    const value = takesValue ? ` -r${values.length > 0 ? ` -f -a ${quoted(values.join(' '))}` : ''}` : '';
    return `complete -c videogen ${within} -l ${option.slice(2)}${value} -d ${quoted(about)}`;
  });
  return [
    `complete -c videogen -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
    ...argument,
    ...lines,
  ].join('\n');
}

/** All three shells take this form: fish escapes a quote as the others do outside of quotes. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
