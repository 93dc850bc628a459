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

/** A value and where it goes. */
export interface PlacedValue {
  place: RequestPlace;
  /** Names the value in messages. */
  of: string;
}

/** Why some values cannot be in the same body, each without its subject; empty if all of them can. */
export function placeProblems(values: readonly PlacedValue[]): string[] {
  const root = new PlaceNode();
  const clashes = values.flatMap((value) => {
    const other = root.add(stepsOf(value.place), value);
    return other
      ? [
          `sends two values to one place: ${value.of} goes to ${value.place}, and ${other.of} to ${other.place}: both cannot be there`,
        ]
      : [];
  });
  return [...clashes, ...gaps(values.map(({ place }) => stepsOf(place)))];
}

/** All places so far, as a tree: a profile may name very many fields. */
class PlaceNode {
  private readonly inner = new Map<PlaceStep, PlaceNode>();
  /** The first value that is here or further in. */
  private first?: PlacedValue;
  private isValue = false;

  /** Returns the value that is there already: at the same place, around it or inside it, or in a list that is an object here. */
  add([step, ...rest]: readonly PlaceStep[], value: PlacedValue): PlacedValue | undefined {
    if (this.first !== undefined && (this.isValue || step === undefined || this.isOtherKind(step))) {
      return this.first;
    }
    this.first ??= value;
    if (step === undefined) {
      this.isValue = true;
      return undefined;
    }
    const next = this.inner.get(step) ?? new PlaceNode();
    this.inner.set(step, next);
    return next.add(rest, value);
  }

  private isOtherKind(step: PlaceStep): boolean {
    const [known] = this.inner.keys();
    return known !== undefined && typeof known !== typeof step;
  }
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
