import type { VideoRequest } from 'temporal-videogen';

/** Shots must have the same format to be joined without encoding. */
const FORMAT = { resolution: '480p', aspect_ratio: '16:9' } as const;

export const storyboard: VideoRequest[] = [
  { ...FORMAT, duration: 2, seed: 11, prompt: 'Snow falls on a forest before dawn' },
  { ...FORMAT, duration: 2, seed: 12, prompt: 'A red fox wakes under a fallen spruce' },
  { ...FORMAT, duration: 3, seed: 13, prompt: 'The fox runs across a frozen lake' },
  { ...FORMAT, duration: 2, seed: 14, prompt: 'Two ravens circle above the ice' },
  { ...FORMAT, duration: 3, seed: 15, prompt: 'The sun rises behind the fox on a hill' },
];
