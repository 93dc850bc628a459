import { deprecatePatch, patched, sleep } from '@temporalio/workflow';

/** One workflow in each release of the recipe in CONTRIBUTING.md. The releases differ in `tidyUp`. */
const download = () => sleep('1ms');
const tidyUp = () => sleep('1ms');

export async function before(): Promise<void> {
  await download();
}

export async function unpatched(): Promise<void> {
  await download();
  await tidyUp();
}

export async function behindPatch(): Promise<void> {
  await download();
  if (patched('tidy-up-after-download')) await tidyUp();
}

export async function patchDeprecated(): Promise<void> {
  await download();
  deprecatePatch('tidy-up-after-download');
  await tidyUp();
}
