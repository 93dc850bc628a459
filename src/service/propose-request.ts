import { ASPECT_RATIOS, RESOLUTIONS, type VideoRequest } from '../contract/request';
import { isObject } from './answer-paths';
import { hasWord, wordsOf } from './likely-paths';
import { mapRequest } from './map-request';
import { parseProfile, type ServiceProfile } from './profile';
import { type RequestFieldRule, VALUE_MARK } from './profile-request';
import { MAX_LIST_INDEX, MAX_PLACE_LENGTH, MAX_PLACE_STEPS, PLACE_PATTERN } from './request-places';

export interface ProposedRequest {
  /** `requestFields` and `request`; empty when nothing in the body is known. */
  profile: Pick<ServiceProfile, 'requestFields' | 'request'>;
  /** The request of ours that the body stands for. */
  request?: VideoRequest;
  /** What is sent for it with the profile. */
  sent?: object;
  /** Questions that only the user can answer, a sentence each. */
  notes: string[];
}

interface Leaf {
  place: string;
  keys: string[][];
  value: string | number | boolean | null;
}

/** A request has a dozen values. */
const MOST_LEAVES = 100;

/** How a service writes one of our fields, as its example shows it. */
interface Seen {
  rule: RequestFieldRule;
  /** What we would have asked for. */
  fields: Partial<VideoRequest>;
  note?: string;
}

type Reader = (leaf: Leaf) => Seen | undefined;

const words = (list: string) => new Set(list.split(' '));
const last = ({ keys }: Leaf) => keys.slice(-1);
const IMAGE = words('image images img picture frame frames frame0 keyframe reference first');
const DURATION = words('duration seconds second length secs');
const SIZE = words('resolution size quality dimension dimensions ratio definition tier');
/** What an example has that no profile should send for everybody. */
const OF_CALLER = words(
  'callback webhook hook hooks notify user customer metadata trace external safety key apikey token secret password',
);
const MODEL = /^(model(_?(name|id))?|engine)$/i;

const READERS: readonly [field: keyof VideoRequest, read: Reader][] = [
  ['image_url', readImage],
  ['prompt', readPrompt],
  ['seed', readSeed],
  ['duration', readDuration],
  ['resolution', readResolution],
  ['aspect_ratio', readRatio],
];

/** Proposes how to word requests from one request that the service's documentation shows. */
export function proposeRequest(body: unknown): ProposedRequest {
  const leaves = likelyLeavesOf(body);
  const used = new Set<Leaf>();
  const seen = new Map<keyof VideoRequest, Seen & { leaf: Leaf }>();
  for (const [field, read] of READERS) {
    if (field === 'aspect_ratio' && seen.get('resolution')?.rule.with) continue;
    const best = leaves
      .filter((leaf) => !used.has(leaf))
      .flatMap((leaf) => {
        const found = read(leaf);
        return found ? [{ ...found, leaf }] : [];
      })[0];
    if (!best) continue;
    used.add(best.leaf);
    seen.set(field, best);
  }
  const prompt = seen.get('prompt');
  if (prompt === undefined) {
    return {
      profile: {},
      notes: ['Nothing in the request looks like a prompt: is it the body of a submit?'],
    };
  }
  const rest = leaves.filter((leaf) => !used.has(leaf));
  const model = rest.find(({ place }) => MODEL.test(place));
  const callers = rest.filter(({ keys }) => hasWord(keys, OF_CALLER));
  const constants = rest.filter((leaf) => leaf !== model && !callers.includes(leaf));
  const image = seen.get('image_url');
  const imageParent =
    image &&
    parentOf(
      image.leaf.place,
      [...seen.values()].filter((one) => one !== image),
    );
  const isOfImage = ({ place }: Leaf) => imageParent !== undefined && place.startsWith(imageParent);

  const fields = Object.fromEntries(
    [
      ...(model ? [['model', ruleAt('model', model.place, { default: model.value })] as const] : []),
      ...[...seen]
        .filter(([name]) => name !== 'image_url')
        .map(([name, one]) => [name, ruleAt(name, one.leaf.place, one.rule)] as const),
    ].filter(([, rule]) => Object.keys(rule).length > 0),
  );
  const imageRule = image && ruleAt('image_url', image.leaf.place, {});
  const imagePart = {
    ...(imageRule && Object.keys(imageRule).length > 0 && { fields: { image_url: imageRule } }),
    ...constantsOf(constants.filter(isOfImage)),
  };
  const proposed: ServiceProfile = {
    ...(model && { requestFields: ['model'] }),
    request: {
      ...(Object.keys(fields).length > 0 && { fields }),
      ...constantsOf(constants.filter((leaf) => !isOfImage(leaf))),
      ...(Object.keys(imagePart).length > 0 && { imageToVideo: imagePart }),
    },
  };
  const parsed = parseProfile(proposed);
  if (!parsed.ok)
    return { profile: {}, notes: [`No profile can be proposed for this request: ${parsed.problem}.`] };
  const request: VideoRequest = {
    prompt: '',
    ...Object.assign({}, ...[...seen.values()].map((one) => one.fields)),
  };
  const mapped = mapRequest(parsed.profile, request);
  return {
    profile: proposed,
    request,
    ...(mapped.ok && { sent: mapped.body }),
    notes: [
      ...[...seen.values()].flatMap(({ note }) => note ?? []),
      ...notFound(new Set([...seen.keys(), ...(seen.get('resolution')?.rule.with ?? [])])),
      ...(callers.length > 0
        ? [`Left out, because they are of one caller: ${callers.map(({ place }) => place).join(', ')}.`]
        : []),
    ],
  };
}

function ruleAt(name: string, place: string, rule: RequestFieldRule): RequestFieldRule {
  return { ...(place !== name && { to: place }), ...rule };
}

function constantsOf(leaves: readonly Leaf[]) {
  if (leaves.length === 0) return {};
  return { constants: Object.fromEntries(leaves.map(({ place, value }) => [place, value])) };
}

function notFound(found: ReadonlySet<string>): string[] {
  const missing = (['image_url', 'resolution', 'aspect_ratio', 'duration', 'seed'] as const).filter(
    (name) => !found.has(name),
  );
  if (missing.length === 0) return [];
  return [
    `Not found in it: ${missing.join(', ')}. Each is sent under its own name unless you give it a place, or to: null if the service does not take it.`,
  ];
}

/** What belongs to the image alone: its entry of a list, or the object around it. */
function parentOf(place: string, others: readonly { leaf: Leaf }[]): string | undefined {
  const entry = /^.*?\[\d+\]/.exec(place)?.[0];
  const parent = entry ?? place.slice(0, Math.max(place.lastIndexOf('.'), 0));
  if (parent === '' || others.some(({ leaf }) => leaf.place.startsWith(`${parent}.`))) return undefined;
  return `${parent}.`;
}

function likelyLeavesOf(body: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  const visit = (value: unknown, place: string, keys: string[][], depth: number) => {
    if (leaves.length >= MOST_LEAVES || depth > MAX_PLACE_STEPS) return;
    if (Array.isArray(value)) {
      if (place === '' || place.endsWith(']')) return;
      for (const [index, entry] of value.slice(0, MAX_LIST_INDEX + 1).entries()) {
        visit(entry, `${place}[${index}]`, keys, depth + 1);
      }
    } else if (isObject(value)) {
      for (const [key, inner] of Object.entries(value)) {
        const next = place === '' ? key : `${place}.${key}`;
        if (key === '__proto__' || next.length > MAX_PLACE_LENGTH || !PLACE_PATTERN.test(next)) continue;
        visit(inner, next, [...keys, wordsOf(key)], depth + 1);
      }
    } else if (place !== '' && isLeaf(value)) leaves.push({ place, keys, value });
  };
  visit(body, '', [], 0);
  return leaves;
}

function isLeaf(value: unknown): value is Leaf['value'] {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function readImage(leaf: Leaf): Seen | undefined {
  const { value, keys } = leaf;
  if (typeof value !== 'string' || !/^(https?:|data:image\/)/i.test(value)) return undefined;
  if (hasWord(keys, OF_CALLER) || !hasWord(keys, IMAGE)) return undefined;
  return { rule: {}, fields: { image_url: value } };
}

const PROMPT = words('prompt text caption description');

function readPrompt(leaf: Leaf): Seen | undefined {
  const { value, keys } = leaf;
  if (typeof value !== 'string' || value === '' || /^https?:/i.test(value)) return undefined;
  if (hasWord(keys, words('negative avoid enhance optimizer expand extend'))) return undefined;
  return hasWord(last(leaf), PROMPT) ? { rule: {}, fields: { prompt: value } } : undefined;
}

function readSeed(leaf: Leaf): Seen | undefined {
  const { value } = leaf;
  if (!hasWord(last(leaf), words('seed'))) return undefined;
  if (typeof value === 'number' && Number.isInteger(value)) return { rule: {}, fields: { seed: value } };
  return typeof value === 'string' && /^\d{1,15}$/.test(value)
    ? { rule: { as: VALUE_MARK }, fields: { seed: Number(value) } }
    : undefined;
}

function readDuration(leaf: Leaf): Seen | undefined {
  const { value } = leaf;
  if (!hasWord(last(leaf), DURATION)) return undefined;
  if (typeof value === 'number' && Number.isInteger(value)) return { rule: {}, fields: { duration: value } };
  const [, seconds, unit] = /^(\d{1,3})(\D{0,10})$/.exec(String(value)) ?? [];
  return seconds === undefined
    ? undefined
    : { rule: { as: `${VALUE_MARK}${unit}` }, fields: { duration: Number(seconds) } };
}

function readResolution(leaf: Leaf): Seen | undefined {
  const { value } = leaf;
  if (typeof value !== 'string' || !hasWord(last(leaf), SIZE)) return undefined;
  const size = /^(\d{3,4})(\D)(\d{3,4})$/.exec(value);
  if (size) return readSize(Number(size[1]), size[2] ?? '', Number(size[3]));
  const known = RESOLUTIONS.find((name) => name === value.toLowerCase());
  if (known === undefined) return undefined;
  if (known === value) return { rule: {}, fields: { resolution: known } };
  return {
    rule: { values: Object.fromEntries(RESOLUTIONS.map((name) => [name, name.toUpperCase()])) },
    fields: { resolution: known },
    note: 'Remove the resolutions that the service does not take.',
  };
}

/** A size stands for a resolution and an aspect ratio. */
function readSize(width: number, separator: string, height: number): Seen | undefined {
  const resolution = RESOLUTIONS.find((name) => name === `${Math.min(width, height)}p`);
  const ratio = ASPECT_RATIOS.find((name) => Math.abs(ratioOf(name) - width / height) < 0.03);
  if (resolution === undefined || ratio === undefined) return undefined;
  const turned = ASPECT_RATIOS.find((name) => name === ratio.split(':').reverse().join(':'));
  const rows = [
    [ratio, `${width}${separator}${height}`],
    ...(turned !== undefined && turned !== ratio ? [[turned, `${height}${separator}${width}`]] : []),
  ];
  const values = Object.fromEntries([
    ...rows.map(([name, size]) => [`${resolution} ${name}`, size]),
    ...rows,
    [resolution, `${width}${separator}${height}`],
  ]);
  return {
    rule: { with: ['aspect_ratio'], values },
    fields: { resolution, aspect_ratio: ratio },
    note: 'Add a row for each further size that the service takes.',
  };
}

function readRatio({ value }: Leaf): Seen | undefined {
  const ratio = ASPECT_RATIOS.find((name) => name === value);
  return ratio && { rule: {}, fields: { aspect_ratio: ratio } };
}

function ratioOf(name: string): number {
  const [width = 1, height = 1] = name.split(':').map(Number);
  return width / height;
}
