import { readFile, stat } from 'node:fs/promises';
import { shown } from '../contract/clean-text';
import { firstLineOf } from '../contract/error-code';
import { BadImage, type CheckedImage, checkImage, tooLarge } from '../storage';
import { COMMAND_LINE_OWNER, LARGEST_IMAGE_BYTES } from '../storage/images';
import { type GenerateOptions, refused } from './read-input';

/** The image of `--image`, checked before anything is started; undefined without the option. */
export async function readImageFile({
  image: file,
  imageUrl,
}: Pick<GenerateOptions, 'image' | 'imageUrl'>): Promise<CheckedImage | undefined> {
  if (file === undefined) return undefined;
  if (imageUrl !== undefined) throw refused('give either --image or --image-url, not both');
  try {
    const found = await stat(file);
    // A device may never end, and opening a FIFO waits for a writer.
    if (!found.isFile()) throw new BadImage('not-an-image', 'is not a file');
    if (found.size > LARGEST_IMAGE_BYTES) throw tooLarge();
    return checkImage(await readFile(file), COMMAND_LINE_OWNER);
  } catch (error) {
    const problem = error instanceof BadImage ? error.message : `cannot be read: ${firstLineOf(error)}`;
    throw refused(`${shown(file)} ${problem}`);
  }
}
