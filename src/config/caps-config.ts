import { z } from 'zod';
import { CAP_FIELDS, type Cap, type Caps, limitsOf } from '../contract/caps';
import { CALLER_RULE, isCaller } from '../contract/input-rules';
import type { Money } from '../contract/money';
import { readYamlFile } from './read-files';
import { ConfigError } from './read-setting';

/** `50 USD`, for files that people write. */
export function parseMoney(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  const [, amount, currency] = /^\s*([\d.]+)\s*([A-Za-z][\w-]*)\s*$/.exec(given) ?? [];
  return amount === undefined ? given : { amount: Number(amount), currency };
}

const { videos, seconds, money } = CAP_FIELDS;
const cap: z.ZodType<Cap> = z
  .strictObject({
    videos: z.custom<number>(videos.accepts, videos.sentence).optional(),
    seconds: z.custom<number>(seconds.accepts, seconds.sentence).optional(),
    money: z
      .preprocess(
        parseMoney,
        z.custom<Money>(money.accepts, `${money.sentence}, or as text, such as 2.50 USD`),
      )
      .optional(),
  })
  .refine((given) => limitsOf(given).length > 0, { error: 'must have videos, seconds or money' });

const capsSchema: z.ZodType<Caps> = z.strictObject({
  job: cap.optional(),
  batch: cap.optional(),
  key: cap.optional(),
  keys: z.record(z.string().refine(isCaller, CALLER_RULE), cap).optional(),
  day: cap.optional(),
});

/** The caps, or what is wrong with them. */
function parseCaps(given: unknown): Caps | string {
  const { success, data, error } = capsSchema.safeParse(given ?? {});
  if (success) return data;
  const { path, message } = error.issues[0] ?? { path: [], message: 'is wrong' };
  return [path.map(String).join('.'), message].filter(Boolean).join(' ');
}

/** The caps that a program gives, checked as those of the file. */
export function checkCaps(given: Caps): Caps {
  const caps = parseCaps(given);
  if (typeof caps !== 'string') return caps;
  throw new ConfigError(`The option caps has a mistake: ${caps}.`);
}

/** The caps of a file, or what is wrong with it. */
export function readCapsFile(file: string): Caps | string {
  const given = readYamlFile(file);
  if (!given.ok) return given.problem;
  const caps = parseCaps(given.value);
  if (typeof caps === 'string') return `names caps with a mistake (${caps})`;
  // A file that lost its content must not let everything through.
  return Object.keys(caps).length > 0 ? caps : 'names a file without a cap';
}
