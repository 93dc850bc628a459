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

/** A value and where it goes. */
export interface PlacedValue {
  place: RequestPlace;
  /** Names the value in messages. */
  of: string;
}

/** Why some values cannot be in the same body, each without its subject; empty if all of them can. */
export function placeProblems(values: readonly PlacedValue[]): string[] {
  /** What is at each place and around it: the first value there, and whether it holds keys or indexes. */
  const taken = new Map<string, { by: PlacedValue; holds: string }>();
  const clashes = values.flatMap((value) => {
    const steps = stepsOf(value.place);
    let around = '';
    for (let depth = 0; depth <= steps.length; depth += 1) {
      const holds = typeof steps[depth];
      const known = taken.get(around);
      if (known && (known.holds !== holds || holds === 'undefined')) {
        const { by } = known;
        return [
          `sends two values to one place: ${value.of} goes to ${value.place}, and ${by.of} to ${by.place}: both cannot be there`,
        ];
      }
      if (!known) taken.set(around, { by: value, holds });
      around += `.${steps[depth]}`;
    }
    return [];
  });
  return [...clashes, ...gaps(values.map(({ place }) => stepsOf(place)))];
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
    return missing === undefined
      ? []
      : [`leaves a gap in a list: ${list}[${missing}] is missing: lists are filled from [0] on`];
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
  private readonly root: object = Object.create(null);
  /** Those made here. Values of the caller may be objects too, and stay as they are. */
  private readonly made = new Set<unknown>([this.root]);

  put(steps: readonly PlaceStep[], value: unknown): void {
    let holder = this.root;
    for (const [index, step] of steps.slice(0, -1).entries()) {
      const inner = Reflect.get(holder, step);
      const next = this.made.has(inner)
        ? inner
        : typeof steps[index + 1] === 'number'
          ? []
          : Object.create(null);
      this.made.add(next);
      Reflect.set(holder, step, next);
      holder = next;
    }
    const last = steps.at(-1);
    if (last !== undefined) Reflect.set(holder, last, value);
  }

  /** Entries of a list that got no value are left out, and the later ones move up. */
  toJson(): object {
    for (const one of this.made) if (Array.isArray(one)) one.splice(0, one.length, ...one.filter(() => true));
    return this.root;
  }
}
