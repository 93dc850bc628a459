/** What can be made of a stored video: its first and its last picture. */
export const EXTRA_NAMES = ['poster', 'last-frame'] as const;

/** One of EXTRA_NAMES. */
export type ExtraName = (typeof EXTRA_NAMES)[number];

/** A picture of a video, stored beside it as a lossless PNG. */
export interface StoredExtra {
  uri: string;
  bytes: number;
  sha256: string;
  contentType: string;
  width: number;
  height: number;
}

/** The extras of a video, by name. One that could not be made is left out, and a warning says why. */
export type StoredExtras = { [Name in ExtraName]?: StoredExtra };

export const EXTRAS_RULE = `must be a list of ${EXTRA_NAMES.join(' and ')}, each at most once`;

export function isExtraName(value: unknown): value is ExtraName {
  return EXTRA_NAMES.some((name) => name === value);
}

export function isExtras(value: unknown): value is ExtraName[] {
  return Array.isArray(value) && value.every(isExtraName) && new Set(value).size === value.length;
}

/**
 * The key of an extra, beside that of its video. It begins with the whole key, as that of the sidecar does: a folder may have
 * `fox.mp4` and `fox.webm`.
 */
export const extraKey = (videoKey: string, name: ExtraName) => `${videoKey}.${name}.png`;

/** The names in a value that anybody may have written, such as a sidecar. */
export function extraNamesIn(value: unknown): ExtraName[] {
  return typeof value === 'object' && value !== null
    ? EXTRA_NAMES.filter((name) => Object.hasOwn(value, name))
    : [];
}

/** `poster 1280x720 at file:///…`. */
export function describeExtra(name: ExtraName, { uri, width, height }: StoredExtra): string {
  return `${name} ${width}x${height} at ${uri}`;
}
