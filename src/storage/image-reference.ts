/** The images that can be uploaded, by the extension of their stored file. */
export const IMAGE_TYPES = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
} as const;

export type ImageExtension = keyof typeof IMAGE_TYPES;

export const LARGEST_IMAGE_BYTES = 20 * 1024 * 1024;

/** An image in the storage. The same bytes of the same owner are the same image. */
export interface ImageReference {
  /** The gateway key that uploaded it, the command line, or the AI SDK's model. */
  owner: string;
  sha256: string;
  extension: ImageExtension;
}

/** No gateway key can have this name: names of keys begin with a letter or a digit. */
export const COMMAND_LINE_OWNER = '_cli';

/** The owner of images in calls of the AI SDK. */
export const AI_SDK_OWNER = '_ai_sdk';

const SCHEME = 'videogen-image:';
const NAME = /^([a-z0-9_]{1,63})\/([0-9a-f]{64})\.([a-z]{3,4})$/;

/** `videogen-image:shop/5f70….png`: what `image_url` is in a job, until a worker turns it into a link for the service. */
export function formatImageReference(reference: ImageReference): string {
  return `${SCHEME}${imageName(reference)}`;
}

/** True for every URL that claims to be a reference, in any case and with any blanks that URLs allow. */
export function claimsToBeImageReference(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === SCHEME;
}

/** Undefined for what is not a reference of exactly our form. */
export function parseImageReference(url: string): ImageReference | undefined {
  return url.startsWith(SCHEME) ? parseImageName(url.slice(SCHEME.length)) : undefined;
}

/** `shop/5f70….png`. */
export function imageName({ owner, sha256, extension }: ImageReference): string {
  return `${owner}/${sha256}.${extension}`;
}

export function parseImageName(name: string): ImageReference | undefined {
  const [, owner = '', sha256 = '', given] = NAME.exec(name) ?? [];
  const extension = EXTENSIONS.find((known) => known === given);
  return extension && { owner, sha256, extension };
}

const EXTENSIONS: readonly ImageExtension[] = ['png', 'jpg', 'webp', 'gif'];

/** The folder of the images in the storage. */
export const IMAGE_FOLDER = 'images';

export function imageKey(reference: ImageReference): string {
  return `${IMAGE_FOLDER}/${imageName(reference)}`;
}
