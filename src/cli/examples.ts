type Example = [command: string, what: string];

/** What the help of each command ends with. */
const EXAMPLES: Record<string, readonly Example[]> = {
  generate: [
    ['videogen generate "A red fox in the snow" --duration 5 --out fox.mp4', 'one video, and a copy of it'],
    ['videogen generate "A red fox" --id fox-1 --no-wait', 'start it and go'],
    ['videogen generate --id fox-1', 'follow it'],
    ['videogen generate --adopt task_0a285c4d', 'continue with a task that is paid already'],
  ],
  batch: [
    ['videogen batch foxes.jsonl --window 10', 'a video for each line, 10 at a time'],
    ['videogen batch foxes.jsonl', 'again: continues where it stopped'],
  ],
  decide: [
    ['videogen decide fox-1 --adopt task_0a285c4d', 'the service has the task'],
    ['videogen decide foxes-17 --resubmit', 'it does not have the task of item 17 of the batch foxes'],
  ],
  list: [
    ['videogen list --state running needs-decision', 'what is under way'],
    ['videogen list --state failed --since 1d', 'what failed since yesterday'],
    ['videogen list --failure GenerationFailed --json', 'for a script'],
    ['videogen list --watch', 'until Ctrl-C'],
  ],
  status: [
    ['videogen status fox-1', 'one job'],
    ['videogen status foxes-3', 'item 3 of the batch foxes'],
  ],
  watch: [
    ['videogen watch fox-1', 'until it has ended; the exit code says how'],
    ['videogen watch fox-1 fox-2 foxes', 'several at once'],
  ],
  cancel: [['videogen cancel fox-1', 'end it']],
  poll: [['videogen poll fox-1', 'ask the service now']],
  retry: [
    ['videogen retry fox-1', 'go on with its task, or submit again if nothing was paid'],
    ['videogen retry fox-1 --deadline 3h', 'with more time'],
    ['videogen retry fox-1 --resubmit', 'you have decided that it may be paid again'],
  ],
  download: [
    ['videogen download fox-1', 'into this folder'],
    ['videogen download foxes-3 --out fox.mp4', 'item 3 of a batch'],
  ],
  forget: [
    ['videogen forget fox-1 --dry-run', 'what would go, and what stays'],
    ['videogen forget foxes --yes', 'a batch with all its items, without asking'],
  ],
  open: [
    ['videogen open fox-1', 'in a browser'],
    ['videogen open fox-1 --no-browser', 'only the address'],
  ],
  caps: [
    ['videogen caps', 'what was used and reserved, and what is left'],
    ['videogen caps --json', 'for a script'],
  ],
  spend: [
    ['videogen spend --since 7d', 'what the last seven days cost'],
    ['videogen spend --since 2026-11-01 --until 2026-12-01 --by caller', 'November, by key of the gateway'],
  ],
  completion: [
    ['videogen completion bash >> ~/.bashrc', 'for all shells to come'],
    ['videogen completion fish > ~/.config/fish/completions/videogen.fish', ''],
  ],
  dev: [
    ['videogen dev', 'everything, on free ports'],
    ['videogen dev --port 7233 --ui-port 8233', 'on ports that you choose'],
    ['videogen dev --fault submit:reset', 'to see a lost submit'],
  ],
  worker: [
    ['videogen worker', 'all of the work'],
    ['videogen worker --only downloads', 'one part of it'],
    ['videogen worker --record answers', 'record the answers of the service, for explain'],
  ],
  emulator: [
    ['videogen emulator --port 8080 --job-time 2s', 'a service without a bill'],
    ['videogen emulator --fault submit:rate-limited', 'whose next submit is refused'],
  ],
  gateway: [['videogen gateway --port 8787', 'for this machine']],
  'gateway-key': [['videogen gateway-key web_shop --file keys.txt', 'a key for one caller']],
  'encryption-key': [
    ['videogen encryption-key 2026-11', 'a key to encrypt with'],
    ['videogen encryption-key 2027-05 --file encryption-keys', 'rotate the keys of a file'],
  ],
  doctor: [
    ['videogen doctor', 'what is wrong, and the fix'],
    ['videogen doctor --json', 'for a script'],
  ],
  explain: [
    ['videogen explain answer.json', 'a saved answer'],
    ['videogen explain answers --json', 'a folder that a worker recorded'],
  ],
  'search-attributes': [
    ['videogen search-attributes', 'which the namespace has'],
    ['videogen search-attributes --register', 'register those that are missing'],
  ],
};

/** The examples of a command, for its help. */
export function exampleText(command: string): string {
  const examples = EXAMPLES[command] ?? [];
  const width = Math.max(...examples.map(([line]) => line.length));
  const lines = examples.map(
    ([line, what]) => `  ${what === '' ? line : `${line.padEnd(width)}   # ${what}`}`,
  );
  return `\nExamples:\n${lines.join('\n')}`;
}
