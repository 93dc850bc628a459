import type { Dialect } from './dialect';
import { FLAT_DIALECTS } from './flat';
import { WRAPPED_DIALECTS } from './wrapped';

/** The services whose paths and answers the emulator can imitate. */
export const DIALECT_NAMES = [
  'default',
  'ark',
  'runway',
  'fal',
  'replicate',
  'openai',
  'veo',
  'luma',
  'kling',
  'minimax',
  'minimax-v2',
  'vidu',
  'dashscope',
  'xai',
  'wavespeed',
  'kie',
  'pixverse',
  'new-api',
  'evolink',
  'higgsfield',
  'inworld',
] as const;

/** The service whose answers the emulator imitates. */
export type DialectName = (typeof DIALECT_NAMES)[number];

export const DIALECTS: Record<DialectName, Dialect> = { ...FLAT_DIALECTS, ...WRAPPED_DIALECTS };
