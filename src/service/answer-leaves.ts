import { isObject, parseJson } from './answer-paths';

/** A scalar of an answer, and the place of a profile that leads to it. */
export interface Leaf {
  place: string;
  /** The words of each key: `ticketNo` is ticket, no. */
  keys: string[][];
  value: string | number;
}

// An answer of a service has a few dozen; of anything larger, the top will do.
const MOST_NODES = 5000;
const DEEPEST = 12;
const MOST_ENTRIES = 20;

/** Every scalar that a place can lead to, from the top down. */
export function leavesOf(root: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  const waiting: { value: unknown; place: string; keys: string[][] }[] = [
    { value: root, place: '', keys: [] },
  ];
  for (let next = 0; next < waiting.length; next++) {
    const { value, place, keys } = waiting[next] ?? { value: null, place: '', keys: [] };
    const held = parseJson(value) ?? value;
    if (typeof held === 'string' || typeof held === 'number') {
      if (place !== '') leaves.push({ place, keys, value: held });
    } else if (Array.isArray(held)) {
      // No place leads into a list without a name.
      if (place === '' || place.endsWith('[]')) continue;
      for (const entry of held.slice(0, MOST_ENTRIES)) {
        if (waiting.length < MOST_NODES) waiting.push({ value: entry, place: `${place}[]`, keys });
      }
    } else if (isObject(held) && keys.length < DEEPEST) {
      for (const [key, inner] of Object.entries(held)) {
        if (waiting.length >= MOST_NODES) break;
        const path = place === '' ? key : `${place}.${key}`;
        // What a place cannot name: parseProfile would refuse it.
        if (!/^[^.\s[\]]+$/.test(key)) continue;
        waiting.push({ value: inner, place: path, keys: [...keys, wordsOf(key)] });
      }
    }
  }
  return leaves;
}

/** `ticketNo`, `ticket_no` and `Ticket-No` are ticket, no. */
export function wordsOf(key: string): string[] {
  const parts = key.slice(0, 100).replace(/([a-z0-9])([A-Z])/g, '$1_$2');
  return parts
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
}

/** The place of a profile that leads to where something was found: `videos[1].url` is `videos[].url`. */
export function placeOf(at: string): string {
  return at.replace(/\[\d+\]/g, '[]');
}
