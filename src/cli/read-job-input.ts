import { type JobInput, parseJobInput, VideoFailure } from '../contract';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import type { GenerateOptions } from './options';

/** The emulator's generations are short and its looks cost nothing. */
export const EMULATOR_POLLING = { min: '1s', max: '1s' };

/** What the command line asks for, or undefined when it only names a job to follow. */
export function readJobInput(
  prompt: string | undefined,
  options: GenerateOptions,
  onEmulator: boolean,
  further: readonly string[] = [],
): JobInput | undefined {
  const { imageUrl, resolution, aspectRatio, duration, seed, adopt, id } = options;
  const { deadline, onLostSubmit, holdFor, storage, keepBad } = options;
  checkId(id);
  const request = defined({
    prompt,
    image_url: imageUrl,
    resolution,
    aspect_ratio: aspectRatio,
    duration: number(duration),
    seed: number(seed),
    ...fields(options.field),
  });
  const wantsVideo = Object.keys(request).length > 0;
  if (!wantsVideo && adopt === undefined && id !== undefined) return undefined;
  if (!wantsVideo && adopt === undefined) {
    throw refused(
      'there is no prompt: say what the video is to show, such as videogen generate "A red fox in the snow"',
    );
  }
  const parsed = parseJobInput(
    defined({
      request: wantsVideo ? request : undefined,
      taskId: adopt,
      deadline,
      onLostSubmit,
      holdFor,
      storage,
      keepBad,
      polling: onEmulator ? EMULATOR_POLLING : undefined,
    }),
    further,
  );
  if (!parsed.ok) throw refused(parsed.problem);
  return parsed.input;
}

/** The name that a job or a batch is given, if any. */
export function checkId(id: string | undefined): void {
  if (id !== undefined && !isWorkflowId(id)) throw refused(`--id ${WORKFLOW_ID_RULE}`);
}

/** `model=m1` and `size={"w":640}`: a value is JSON, or text when it is none. */
function fields(given: string[] = []): Record<string, unknown> {
  return Object.fromEntries(
    given.map((text) => {
      const [name = '', value] = text.split(/=(.*)/s);
      if (name === '' || value === undefined)
        throw refused(`--field is ${JSON.stringify(text)}: give NAME=VALUE`);
      return [name, jsonOr(value)];
    }),
  );
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Left as text when it is no number: the request's own rules say what is wrong with it. */
export function number(text: string | undefined): number | string | undefined {
  return text !== undefined && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

export function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function refused(message: string): VideoFailure {
  return new VideoFailure('InvalidRequest', { message });
}
