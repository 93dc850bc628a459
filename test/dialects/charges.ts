import type { DialectName } from './index';

/** Where the answers of a dialect say what a task cost. */
export interface Charge {
  /** Keys joined by dots. */
  at: string;
  /** How many of its units are a dollar. */
  perDollar: number;
}

const CENTRAL: Charge = { at: 'usage.cost_usd', perDollar: 1 };
const inside = (envelope: string): Charge => ({ at: `${envelope}.cost_usd`, perDollar: 1 });

/** xAI documents its field. The others have one whose name says its unit, next to the other facts of the task. */
const CHARGES: Partial<Record<DialectName, Charge>> = {
  default: { at: 'cost_usd', perDollar: 1 },
  xai: { at: 'usage.cost_in_usd_ticks', perDollar: 1e10 },
  kling: inside('data'),
  wavespeed: inside('data'),
  kie: inside('data'),
  'minimax-v2': inside('task'),
  pixverse: inside('Resp'),
};

/** The body of an answer with the cost of its task in it. */
export function withCharge(body: object, dialect: DialectName, dollars: number): object {
  const { at, perDollar } = CHARGES[dialect] ?? CENTRAL;
  return put(body, at.split('.'), dollars * perDollar);
}

function put(body: object, [key = '', ...rest]: string[], value: number): object {
  const inner: unknown = Reflect.get(body, key);
  return { ...body, [key]: rest.length === 0 ? value : put(Object(inner), rest, value) };
}
