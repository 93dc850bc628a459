/**
 * Where in the body of a request a value goes: keys joined by dots, each with the index of a list after it if it has one,
 * such as `input.prompt` or `instances[0].prompt`.
 */
export type RequestPlace = string;

/** A key of an object, or the index of a list. */
export type PlaceStep = string | number;

export const MAX_PLACE_LENGTH = 200;
export const MAX_PLACE_STEPS = 10;
export const MAX_LIST_INDEX = 20;
export const PLACE_PATTERN = /^[^.\s[\]]+(\[\d{1,2}\])?(\.[^.\s[\]]+(\[\d{1,2}\])?)*$/;

/** `instances[0].prompt` is instances, 0, prompt. */
export function stepsOf(place: RequestPlace): PlaceStep[] {
  return place.split('.').flatMap((part): PlaceStep[] => {
    const [, key = part, index] = /^(.*)\[(\d+)\]$/.exec(part) ?? [];
    return index === undefined ? [key] : [key, Number(index)];
  });
}

type Container = Map<PlaceStep, Container | { value: unknown }>;

/** Why two values cannot be put in the same body, a sentence each; empty if all of them can. */
export function placeProblems(places: readonly { place: RequestPlace; of: string }[]): string[] {
  const problems: string[] = [];
  const known = places.map(({ place, of }) => ({ of, place, steps: stepsOf(place) }));
  for (const [index, one] of known.entries()) {
    const other = known.slice(0, index).find(({ steps }) => clash(steps, one.steps));
    if (other)
      problems.push(
        `${one.of} goes to ${one.place}, and ${other.of} to ${other.place}: both cannot be there`,
      );
  }
  return [...problems, ...gaps(known.map(({ steps }) => steps))];
}

/** Whether one place is the other or inside it, or makes a list of what the other makes an object of. */
function clash(one: readonly PlaceStep[], other: readonly PlaceStep[]): boolean {
  for (const [index, step] of one.entries()) {
    const its = other[index];
    if (its === undefined || typeof its !== typeof step) return true;
    if (its !== step) return false;
  }
  return true;
}

/** A list of which entry 2 is filled and entry 1 never is has a mistake in it. */
function gaps(places: readonly (readonly PlaceStep[])[]): string[] {
  const lists = new Map<string, Set<number>>();
  for (const steps of places) {
    for (const [at, step] of steps.entries()) {
      if (typeof step !== 'number') continue;
      const list = placeOf(steps.slice(0, at));
      lists.set(list, (lists.get(list) ?? new Set()).add(step));
    }
  }
  return [...lists].flatMap(([list, entries]) => {
    const missing = [...Array(Math.max(...entries)).keys()].find((index) => !entries.has(index));
    return missing === undefined ? [] : [`${list}[${missing}] is missing: lists are filled from [0] on`];
  });
}

function placeOf(steps: readonly PlaceStep[]): string {
  return steps.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );
}

/** A JSON body that is filled place by place. Its objects have no prototype, so that no key has a meaning of its own. */
export class RequestBody {
  private readonly root: Container = new Map();

  put(steps: readonly PlaceStep[], value: unknown): void {
    let holder = this.root;
    for (const step of steps.slice(0, -1)) {
      const inner = holder.get(step);
      const next: Container = inner instanceof Map ? inner : new Map();
      holder.set(step, next);
      holder = next;
    }
    const last = steps.at(-1);
    if (last !== undefined) holder.set(last, { value });
  }

  /** Entries of a list that got no value are left out, and the later ones move up. */
  toJson(): object {
    return toJson(this.root) as object;
  }
}

function toJson(node: Container | { value: unknown }): unknown {
  if (!(node instanceof Map)) return node.value;
  const entries = [...node];
  if (entries.length > 0 && entries.every(([step]) => typeof step === 'number')) {
    return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, inner]) => toJson(inner));
  }
  const json: Record<string, unknown> = Object.create(null);
  for (const [step, inner] of entries) json[step] = toJson(inner);
  return json;
}
