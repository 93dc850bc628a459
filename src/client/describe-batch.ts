import type { BatchInput } from '../contract/batch';
import { cleanText } from '../contract/clean-text';
import { bounded, LONGEST_PROMPT_CHARS, LONGEST_SUMMARY_CHARS, plain, redacted } from '../contract/summaries';

/** A batch in one line: `batch of 12, the first: "A red fox"`, or the key of its requests. */
export function describeBatch({ requests, requestsFrom }: BatchInput): string {
  if (requests === undefined) return cleanText(`batch of ${requestsFrom}`, LONGEST_SUMMARY_CHARS);
  const [first] = requests;
  return cleanText(
    `batch of ${requests.length}, the first: "${redacted(first?.prompt, LONGEST_PROMPT_CHARS)}"`,
    LONGEST_SUMMARY_CHARS,
  );
}

const LONGEST_BATCH_PROMPT_CHARS = 200;
const MOST_PROMPTS = 10;

/** The first prompts of a batch, or where its requests are. The input has the rest. */
export function staticBatchDetails({ requests, requestsFrom }: BatchInput): string {
  if (requests === undefined) return `A video for each line of ${plain(requestsFrom)} in the storage`;
  const first = requests
    .slice(0, MOST_PROMPTS)
    .map(({ prompt }, index) => `${index + 1}. ${plain(prompt, LONGEST_BATCH_PROMPT_CHARS)}`);
  const more = requests.length - first.length;
  return bounded(`${first.join('\n')}${more > 0 ? `\n\nand ${more} more` : ''}`);
}
