import { randomBytes } from 'node:crypto';
import { type Emulator, type EmulatorOptions, startEmulator } from '../../../../src/testing';
import { noiseVideo } from '../../../../src/testing/video/make-video';
import type { ProviderName } from '../what-runs';
import { alibaba } from './alibaba';
import { fal } from './fal';
import { google, vertex } from './google';
import { replicate } from './replicate';
import type { Imitation } from './words';
import { xai } from './xai';

export { FAL_QUEUE } from './fal';
export { OPERATION } from './google';

const IMITATIONS: Record<ProviderName, (video: Buffer) => Imitation> = {
  fal: () => fal,
  replicate: () => replicate,
  google: () => google,
  xai: () => xai,
  alibaba: () => alibaba,
  'google-vertex': vertex,
};

/** The service that a package calls, on this machine. */
export interface ImitatedService extends Emulator, Omit<Imitation, 'dialect'> {
  /** For the base URL option of the package. */
  baseUrl: string;
}

const VIDEO_BYTES = 64 * 1024;

export async function startImitatedService(
  name: ProviderName,
  options: EmulatorOptions = {},
): Promise<ImitatedService> {
  const inAnswers = await noiseVideo(
    { prompt: 'any', resolution: '720p', aspect_ratio: '16:9', duration: 6 },
    VIDEO_BYTES,
  );
  const { dialect, ...imitation } = IMITATIONS[name](inAnswers);
  const apiKey = `key-${randomBytes(16).toString('hex')}`;
  const emulator = await startEmulator({ apiKey, videoBytes: VIDEO_BYTES, dialect, ...options });
  return {
    ...emulator,
    ...imitation,
    baseUrl: `${emulator.url}${imitation.basePath}`,
    video: name === 'google-vertex' ? async () => inAnswers : emulator.video,
  };
}
