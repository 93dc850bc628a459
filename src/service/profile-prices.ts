import { z } from 'zod';
import { AMOUNT_RULE, CURRENCY_RULE, isAmount, isCurrency } from '../contract/money';
import { OPERATIONS } from '../contract/prices';
import { type AnswerPath, type ChargedPath, DEFAULT_RULES } from './reading-rules';

/** The parts of a profile that are about money. */

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

type Prices = z.input<typeof pricesSchema>;

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
