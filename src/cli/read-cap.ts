import { ConfigError } from '../config/read-setting';
import { CAP_FIELDS, type Cap } from '../contract/caps';

/** `--cap "3 videos" "2.50 USD"`: the last word is the unit, or the currency. */
export function readCap(given: string[] | undefined): Cap | undefined {
  if (given === undefined) return undefined;
  const cap: Cap = {};
  for (const text of given) {
    const limit = readLimit(text);
    const [unit = ''] = Object.keys(limit);
    if (unit in cap) throw new ConfigError(`--cap has two limits in ${unit}: give one.`);
    Object.assign(cap, limit);
  }
  return cap;
}

function readLimit(text: string): Cap {
  const [, digits = '', unit = ''] = /^\s*([\d.]+)\s*([A-Za-z][\w-]*)\s*$/.exec(text) ?? [];
  const value = Number(digits);
  if (/^videos?$/.test(unit) && CAP_FIELDS.videos.accepts(value)) return { videos: value };
  if (/^(seconds?|s)$/.test(unit) && CAP_FIELDS.seconds.accepts(value)) return { seconds: value };
  const money = { amount: value, currency: unit };
  if (digits !== '' && !/^(videos?|seconds?|s)$/.test(unit) && CAP_FIELDS.money.accepts(money))
    return { money };
  throw new ConfigError(
    `--cap is ${JSON.stringify(text)}: give a number with videos, seconds or a currency, such as "2.50 USD".`,
  );
}
