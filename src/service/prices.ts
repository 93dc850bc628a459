import { z } from 'zod';
import type { JobCost } from '../contract/job-cost';
import { AMOUNT_RULE, CURRENCY_RULE, isAmount, isCurrency, LARGEST_AMOUNT, money } from '../contract/money';
import { describeValue } from '../contract/redact-links';
import { type AnswerPath, type ChargedPath, DEFAULT_RULES } from './reading-rules';

/** The parts of a profile that are about money. */

/** What a request asks the service to do. */
const OPERATIONS = ['text-to-video', 'image-to-video'] as const;

/** A table is read from its top for every request. */
const MOST_PRICES = 200;
/** No video is longer than a day. A ledger of caps takes no number of any size. */
const LONGEST_SECONDS = 86_400;
const text = z.string().min(1);
const amount = z.number().refine(isAmount, AMOUNT_RULE);
const currency = z
  .string()
  .refine(isCurrency, CURRENCY_RULE)
  .describe('A currency such as USD, or the unit in which the service counts, such as credits.');
export const pricesSchema = z
  .strictObject({
    currency,
    table: z
      .array(
        z
          .strictObject({
            operation: z.enum(OPERATIONS).optional().describe('Any operation unless set.'),
            resolution: text.optional().describe('Any resolution unless set.'),
            perSecond: amount.optional().describe('For each second of the video.'),
            perVideo: amount.optional().describe('For the whole video, in addition to its seconds.'),
          })
          .refine(({ perSecond, perVideo }) => perSecond !== undefined || perVideo !== undefined, {
            error: 'must have perSecond or perVideo',
          }),
      )
      .min(1, 'must have a row')
      .max(MOST_PRICES, `must have at most ${MOST_PRICES} rows`)
      .describe('The first row that fits a request has its price.'),
    defaults: z
      .strictObject({
        duration: z
          .number()
          .positive('must be more than 0')
          .max(LONGEST_SECONDS, `must be at most ${LONGEST_SECONDS}`)
          .optional()
          .describe('In seconds.'),
        resolution: text.optional(),
      })
      .optional()
      .describe('What the service takes when a request does not say it.'),
  })
  .describe('What videos cost: an estimate before each submit, and the caps in money.');

/** What a service charges. */
export type Prices = z.input<typeof pricesSchema>;

/** What a video will cost, or why that is unknown; unknown is never zero. `seconds` is its duration, if it is known. */
export interface Estimate extends Pick<JobCost, 'estimated' | 'unknown'> {
  seconds?: number;
}

/** The fields of a request that have a price. */
interface PricedRequest {
  image_url?: string | undefined;
  resolution?: string | undefined;
  duration?: number | undefined;
}

/** What a request will cost, before it is sent. */
export function estimateCost(prices: Prices | undefined, request: PricedRequest): Estimate {
  const seconds = secondsOf(prices, request);
  const known = seconds === undefined ? {} : { seconds };
  if (prices === undefined) return { unknown: 'the profile of the service has no prices', ...known };
  const cost = priceOf(prices, request, seconds);
  return { ...(typeof cost === 'string' ? { unknown: cost } : { estimated: cost }), ...known };
}

/** What is known of a service without calling it. */
interface PricedService {
  name?: string | undefined;
  service: { profile?: { name?: string | undefined; prices?: Prices | undefined }; address?: string };
}

/** What a job will cost; undefined when the profile has no prices. A service without a name is called by its host. */
export function estimateJob({ name, service }: PricedService, request: PricedRequest): JobCost | undefined {
  const { profile, address = '' } = service;
  if (profile?.prices === undefined) return undefined;
  const { seconds: _, ...cost } = estimateCost(profile.prices, request);
  const paid = name ?? profile.name ?? (URL.canParse(address) ? new URL(address).host : undefined);
  return { ...cost, ...(paid !== undefined && { service: paid }) };
}

/** Services read 0 and -1 as a duration of their own choice. */
function secondsOf(prices: Prices | undefined, { duration }: PricedRequest): number | undefined {
  const seconds = duration ?? prices?.defaults?.duration;
  return seconds !== undefined && seconds > 0 ? seconds : undefined;
}

/** The price, or why it is unknown. */
function priceOf(prices: Prices, request: PricedRequest, seconds: number | undefined) {
  const row = findRow(prices, request);
  if (typeof row === 'string') return row;
  const { perSecond = 0, perVideo = 0 } = row;
  if (row.perSecond !== undefined && seconds === undefined) return whyNoSeconds(request);
  // Rounded last, so that a price of a third is not.
  const cost = perSecond * (seconds ?? 0) + perVideo;
  return cost > LARGEST_AMOUNT
    ? 'its price is larger than any that can be counted'
    : money(cost, prices.currency);
}

/** A row may fit or not, depending on what the request does not say: then the price of a later row would be a guess. */
function findRow({ table, defaults }: Prices, request: PricedRequest): Prices['table'][number] | string {
  const operation = request.image_url == null ? 'text-to-video' : 'image-to-video';
  const resolution = request.resolution ?? defaults?.resolution;
  for (const row of table) {
    if (row.operation !== undefined && row.operation !== operation) continue;
    if (row.resolution === undefined || row.resolution === resolution) return row;
    if (resolution === undefined)
      return 'the request has no resolution, and prices.defaults of the profile has none';
  }
  const what = resolution === undefined ? operation : `${operation} at ${describeValue(resolution)}`;
  return `prices.table of the profile has no row for ${what}`;
}

function whyNoSeconds({ duration }: PricedRequest): string {
  return duration == null
    ? 'the request has no duration, and prices.defaults of the profile has none'
    : `with a duration of ${describeValue(duration)} the service chooses it`;
}

/** What `read.charged` of a profile is: where the amount is, in which unit. */
export function chargedSchema<Paths extends z.ZodType<AnswerPath | AnswerPath[]>>(answerPaths: Paths) {
  return z.union([
    answerPaths,
    z.strictObject({
      amount: answerPaths,
      currency: currency.optional().describe('That of prices unless set.'),
      divideBy: z
        .number()
        .positive('must be more than 0')
        .max(1e12, 'must be at most 1000000000000')
        .optional()
        .describe('How many of the units of the answer are one of the currency: 100 for cents.'),
    }),
  ]);
}

type Charged = AnswerPath | AnswerPath[] | ChargedUnit;

interface ChargedUnit {
  amount: AnswerPath | AnswerPath[];
  currency?: string | undefined;
  divideBy?: number | undefined;
}

export function currencyOf(charged: Charged, prices: Prices | undefined): string | undefined {
  return unitOf(charged).currency ?? prices?.currency;
}

/** Where the answers of a service say what a task cost. */
export function chargedPaths(charged: Charged | undefined, prices: Prices | undefined): ChargedPath[] {
  // Of a service with prices in dollars, credits would be in no sum of dollars.
  const usual = DEFAULT_RULES.paths.charged.filter(
    ({ currency }) => prices === undefined || prices.currency === currency,
  );
  const currency = charged && currencyOf(charged, prices);
  if (charged === undefined || currency === undefined) return usual;
  const { amount, divideBy } = unitOf(charged);
  return [amount].flat().map((path) => ({ path, currency, divideBy }));
}

function unitOf(charged: Charged): ChargedUnit {
  return typeof charged === 'string' || Array.isArray(charged) ? { amount: charged } : charged;
}
