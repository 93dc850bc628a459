import type { BatchInput } from './batch';
import { cleanText, codeMarkdown, plainMarkdown } from './clean-text';
import { type DurationText, describeDuration, durationMs } from './duration';
import type { VideoInput } from './fallback';
import type { JobOptions } from './job';
import { DEFAULT_DEADLINE_MS, DEFAULT_WINDOW } from './policies';
import { redactLinks } from './redact-links';

/** Temporal accepts 20 KB of details, and a UTF-16 unit has at most three bytes. */
const LONGEST_DETAILS_CHARS = 6_000;
const LONGEST_PROMPT_CHARS = 2_500;
const LONGEST_VALUE_CHARS = 300;
/** The input of the batch has the rest. */
const MOST_PROMPTS = 10;
const LONGEST_BATCH_PROMPT_CHARS = 200;

/** What a job was started for, as markdown for the Temporal UI, which shows no tables. */
export function staticJobDetails(input: VideoInput): string {
  const { request, taskId } = input;
  if (request === undefined) return details([`**Adopts task ${code(taskId)}**`, list(optionsOf(input))]);
  const { prompt, ...fields } = request;
  return details([
    `**${request.image_url === undefined ? 'Text' : 'Image'} to video**`,
    `> ${plain(prompt, LONGEST_PROMPT_CHARS)}`,
    list(Object.entries(fields)),
    list(optionsOf(input)),
  ]);
}

/** The same for a batch. */
export function staticBatchDetails(input: BatchInput): string {
  const { requests, requestsFrom, window = DEFAULT_WINDOW, onFailure = 'continue' } = input;
  return details([
    requests === undefined
      ? `**A video for each line of ${code(requestsFrom)} in the storage**`
      : `**${requests.length === 1 ? 'One video' : `${requests.length} videos`}**`,
    list([['window', window], ['onFailure', onFailure], ...optionsOf(input)]),
    requests && promptsOf(requests.map(({ prompt }) => prompt)),
  ]);
}

function promptsOf(prompts: string[]): string {
  const first = prompts.slice(0, MOST_PROMPTS).map((prompt) => plain(prompt, LONGEST_BATCH_PROMPT_CHARS));
  const more = prompts.length - first.length;
  const lines = first.map((prompt, index) => `${index + 1}. ${prompt}`).join('\n');
  return more > 0 ? `${lines}\n\nand ${more} more` : lines;
}

type Field = [name: string, value: unknown];

/** The options that people ask about first; the input has all of them. */
function optionsOf({
  deadline,
  storage,
  onLostSubmit,
  cap,
  caller,
  service,
  services,
  queues,
}: Omit<JobOptions, 'idempotencyKey' | 'callbackUrl'> & { services?: string[] }): Field[] {
  return [
    ['deadline', describeDeadline(deadline)],
    ['storage', storage],
    ['onLostSubmit', onLostSubmit],
    ['cap', cap],
    ['caller', caller],
    ['service', service],
    ['services', services?.join(', ')],
    ['submit queue', queues?.submit],
    ['download queue', queues?.download],
  ];
}

function describeDeadline(deadline: DurationText | undefined): string {
  return describeDuration(durationMs(deadline) ?? DEFAULT_DEADLINE_MS);
}

function list(fields: Field[]): string {
  const given = fields.filter(([, value]) => value != null);
  return given.map(([name, value]) => `- ${plain(name, LONGEST_VALUE_CHARS)}: ${code(value)}`).join('\n');
}

function code(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return codeMarkdown(withoutSecrets(text, LONGEST_VALUE_CHARS));
}

function plain(text: string, longestChars: number): string {
  return plainMarkdown(withoutSecrets(text, longestChars));
}

/** Links may contain a signature or a password, and a data link contains the whole image. */
function withoutSecrets(text: string, longestChars: number): string {
  return cleanText(redactLinks(text.replace(/\bdata:[^\s"'<>]+/g, 'data:…')), longestChars);
}

function details(parts: (string | undefined)[]): string {
  const text = parts.filter(Boolean).join('\n\n');
  if (text.length <= LONGEST_DETAILS_CHARS) return text;
  return `${text.slice(0, text.lastIndexOf('\n', LONGEST_DETAILS_CHARS - 3))}\n\n…`;
}
