import type { VideoRequest } from 'temporal-videogen/contract';

/** What shots have to have in common to be cut together as they are. */
const LOOK = { resolution: '480p', aspect_ratio: '16:9' } as const;

export const storyboard: VideoRequest[] = [
  { ...LOOK, duration: 2, seed: 11, prompt: 'Snow falls on a forest before dawn' },
  { ...LOOK, duration: 2, seed: 12, prompt: 'A red fox wakes under a fallen spruce' },
  { ...LOOK, duration: 3, seed: 13, prompt: 'The fox runs across a frozen lake' },
  { ...LOOK, duration: 2, seed: 14, prompt: 'Two ravens circle above the ice' },
  { ...LOOK, duration: 3, seed: 15, prompt: 'The sun rises behind the fox on a hill' },
];
