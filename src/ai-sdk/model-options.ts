import { isPlainObject } from '../contract/input-rules';
import type { JobOptions } from '../contract/job';
import { JOB_OPTION_FIELDS } from '../contract/job-input';
import { describeNames } from '../contract/redact-links';
import { VideoFailure } from '../contract/video-failure';

/** What `providerOptions.videogen` of a call takes: every option of a job, and these. */
export interface ModelJobOptions extends JobOptions {
  /** The workflow id. The same name joins the job, whatever its options are; another request under it is refused. */
  name?: string;
  /** A new job for this call, even if the same call was made before. Whoever repeats the call pays again. */
  fresh?: boolean;
  /** Fields for the service beyond those of the call. They replace what the call says. */
  request?: Record<string, unknown>;
  /** Whether aborting the call cancels the job, for everybody who waits for it. Default: false. */
  cancelOnAbort?: boolean;
}

/** The name of this provider in `providerOptions` and `providerMetadata`. */
export const PROVIDER = 'videogen';

type Rule = { accepts: (value: unknown) => boolean; sentence: string };

const FLAG: Rule = { accepts: (value) => typeof value === 'boolean', sentence: 'must be true or false' };

/** The options that only a call has. `name` is checked where the job is started, as every workflow id is. */
const OWN_OPTIONS: Readonly<Record<string, Rule>> = {
  name: { accepts: (value) => typeof value === 'string', sentence: 'must be text' },
  fresh: FLAG,
  request: { accepts: isPlainObject, sentence: 'must be an object with fields of the request' },
  cancelOnAbort: FLAG,
} satisfies Record<Exclude<keyof ModelJobOptions, keyof JobOptions>, Rule>;

const NAMES = [...Object.keys(OWN_OPTIONS), ...JOB_OPTION_FIELDS];
/** A name for all calls of a model would make them one job. */
const NAMES_OF_DEFAULTS = NAMES.filter((name) => name !== 'name');

/** The options of a call, over the defaults of its model. Throws InvalidRequest for what is no option. */
export function readOptions(defaults: object | undefined, given: object | undefined): ModelJobOptions {
  const before = checked(defaults, 'the option job of videoModel', NAMES_OF_DEFAULTS);
  const now = checked(given, `providerOptions.${PROVIDER}`, NAMES);
  const options = { ...before, ...now, request: { ...before.request, ...now.request } };
  if (options.name !== undefined && options.fresh) {
    throw refused('give either name or fresh, not both: a name joins its job, and fresh joins none');
  }
  return options;
}

function checked(given: object | undefined, place: string, names: readonly string[]): ModelJobOptions {
  if (given === undefined) return {};
  if (!isPlainObject(given)) throw refused(`${place} must be an object`);
  // Undefined counts as absent, as everywhere in options.
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  const unknown = entries.map(([name]) => name).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw refused(
      `${describeNames(unknown)}: not an option of ${place}; the options are ${names.join(', ')}`,
    );
  }
  for (const [name, value] of entries) {
    const rule = Object.hasOwn(OWN_OPTIONS, name) ? OWN_OPTIONS[name] : undefined;
    if (rule && !rule.accepts(value)) throw refused(`${name} of ${place} ${rule.sentence}`);
  }
  return Object.fromEntries(entries);
}

export function refused(message: string): VideoFailure {
  return new VideoFailure('InvalidRequest', { message });
}
