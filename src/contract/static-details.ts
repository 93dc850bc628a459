import type { BatchInput } from './batch';
import { DEFAULT_WINDOW } from './batch-rules';
import { cleanText } from './clean-text';
import { type DurationText, describeDuration, durationMs } from './duration';
import type { JobInput, JobOptions } from './job';
import { codeMarkdown, plainMarkdown } from './markdown';
import { DEFAULT_DEADLINE_MS } from './policies';
import { redactLinks } from './redact-links';

/** Temporal takes 20 KB of details; a character has at most three bytes, and one of four counts as two. */
const LONGEST_DETAILS = 6_000;
const LONGEST_PROMPT = 2_500;
const LONGEST_VALUE = 300;
/** Of a batch; the others are in its input. */
const MOST_PROMPTS = 10;
const LONGEST_OF_PROMPTS = 200;

/** What a job was started for, as the Temporal UI shows it: markdown without tables. */
export function jobAtStart(input: JobInput): string {
  const { request, taskId } = input;
  if (request === undefined) return details([`**Adopts task ${code(taskId)}**`, list(optionsOf(input))]);
  const { prompt, ...fields } = request;
  return details([
    `**${request.image_url === undefined ? 'Text' : 'Image'} to video**`,
    `> ${plain(prompt, LONGEST_PROMPT)}`,
    list(Object.entries(fields)),
    list(optionsOf(input)),
  ]);
}

export function batchAtStart(input: BatchInput): string {
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
  const first = prompts.slice(0, MOST_PROMPTS).map((prompt) => plain(prompt, LONGEST_OF_PROMPTS));
  const more = prompts.length - first.length;
  const lines = first.map((prompt, index) => `${index + 1}. ${prompt}`).join('\n');
  return more > 0 ? `${lines}\n\nand ${more} more` : lines;
}

type Field = [name: string, value: unknown];

/** Those of the options that people ask about first; all of them are in the input. */
function optionsOf({ deadline, storage, onLostSubmit, queues }: Omit<JobOptions, 'idempotencyKey'>): Field[] {
  return [
    ['deadline', lengthOf(deadline)],
    ['storage', storage],
    ['onLostSubmit', onLostSubmit],
    ['submit queue', queues?.submit],
    ['download queue', queues?.download],
  ];
}

function lengthOf(deadline: DurationText | undefined): string {
  return describeDuration(durationMs(deadline) ?? DEFAULT_DEADLINE_MS);
}

function list(fields: Field[]): string {
  const given = fields.filter(([, value]) => value != null);
  return given.map(([name, value]) => `- ${plain(name, LONGEST_VALUE)}: ${code(value)}`).join('\n');
}

/** A value to the letter, as far as it may be told. */
function code(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return codeMarkdown(told(text, LONGEST_VALUE));
}

function plain(text: string, longest: number): string {
  return plainMarkdown(told(text, longest));
}

/** Links often carry a signature, some a password, and an image may be given as a link that is all of it. */
function told(text: string, longest: number): string {
  const told = redactLinks(text.replace(/\bdata:[^\s"'<>]+/g, 'data:…'));
  return cleanText(told, longest);
}

function details(parts: (string | undefined)[]): string {
  const text = parts.filter(Boolean).join('\n\n');
  if (text.length <= LONGEST_DETAILS) return text;
  return `${text.slice(0, text.lastIndexOf('\n', LONGEST_DETAILS - 3))}\n\n…`;
}
