import type { Environment } from '../../config/service-config';
import { Closers } from '../closers';
import { askAddress, type HttpAnswer } from './ask-address';
import { findTemporal, type Temporal } from './find-temporal';

/** Shared by the checks, so that each lookup happens once. */
export interface Context {
  readonly env: Environment;
  temporal(): Promise<Temporal>;
  /** The answer of the video service's address to a request without a key. */
  addressAnswer(baseUrl: string): Promise<HttpAnswer>;
  close(): Promise<void>;
}

export function createContext(env: Environment): Context {
  const closers = new Closers();
  let temporal: Promise<Temporal> | undefined;
  const answers = new Map<string, Promise<HttpAnswer>>();
  return {
    env,
    temporal() {
      temporal ??= findTemporal(env, closers);
      return temporal;
    },
    addressAnswer(baseUrl) {
      const answer = answers.get(baseUrl) ?? askAddress(baseUrl);
      answers.set(baseUrl, answer);
      return answer;
    },
    close: () => closers.close(),
  };
}
