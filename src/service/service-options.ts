import type { Dispatcher } from 'undici';
import type { AnswerTimeouts } from './call-service';
import type { ServiceProfile } from './profile';

const SECOND = 1_000;

/** Milliseconds without a byte: until connected, until the headers, and between two chunks of the body. */
export interface ServiceTimeouts {
  connect: number;
  submit: AnswerTimeouts;
  poll: AnswerTimeouts;
  video: AnswerTimeouts;
  /**
   * Milliseconds for a whole exchange, however steadily bytes come; for a video until its first byte, redirects included. They
   * must stay below the timeouts of SUBMIT_POLICY and POLL_POLICY, so that a trickling answer fails as a lost submit or a failed
   * poll and a draining worker can stop. A poll may take two exchanges: one for the task, one for its link.
   */
  exchange: { submit: number; poll: number; video: number };
}

export const DEFAULT_TIMEOUTS: ServiceTimeouts = {
  connect: 10 * SECOND,
  // Some services hold the POST while they check the prompt and the image.
  submit: { headersTimeout: 60 * SECOND, bodyTimeout: 20 * SECOND },
  poll: { headersTimeout: 20 * SECOND, bodyTimeout: 20 * SECOND },
  // Some storages take a while to find a video, and then send it fast.
  video: { headersTimeout: 60 * SECOND, bodyTimeout: 30 * SECOND },
  exchange: { submit: 90 * SECOND, poll: 25 * SECOND, video: 120 * SECOND },
};

/** The address of the service, with one slash at its end. Without the lookbehind, very many slashes would take seconds. */
export function baseOf(baseUrl: string): URL {
  return new URL(`${baseUrl.replace(/(?<!\/)\/+$/, '')}/`);
}

/** What the service was asked. */
export interface SentRequest {
  method: string;
  path: string;
  /** JSON; only submits have one. */
  body?: string;
}

/** One answer of the service without secrets: it may be recorded and shown to others. */
export interface ServiceAnswer {
  call: 'submit' | 'poll' | 'link' | 'cancel';
  /** What it answers, without secrets too. */
  sent?: SentRequest;
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: string;
}

/** Options of createVideoService. */
export interface VideoServiceOptions {
  baseUrl: string;
  /** Called for every request, so that a rotated key is used at once. */
  apiKey: () => string;
  /** For a slower service. */
  timeouts?: Partial<ServiceTimeouts>;
  /** Where the service differs from the interface. */
  profile?: ServiceProfile;
  /**
   * Hosts, by name or IP address, that videos may come from without TLS or at an address that is not public. The
   * service's own host may be at any address.
   */
  downloadAllow?: readonly string[];
  /** Called with every answer of the service, good or bad, to record how it answers. Not called for videos. */
  onAnswer?: (answer: ServiceAnswer) => void;
}
