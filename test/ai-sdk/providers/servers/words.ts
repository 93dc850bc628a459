import { z } from 'zod';
import type { ContentStage } from '../../../../src/contract/failure-details';
import { parseRequest, RESOLUTIONS, type VideoRequest } from '../../../../src/contract/request';
import type { Dialect, DialectRoute } from '../../../../src/testing/dialect';

/**
 * A service that a package of the AI SDK calls: its own paths, keys, bodies, answers and errors, as its documentation and the
 * schemas of the package have them.
 */
export interface Imitation {
  dialect: Dialect;
  /** Where the API begins, as the base URL of the package has it. */
  basePath: string;
  /** What its content policy can refuse. */
  refuses: ContentStage[];
  /** What a link answers that is no longer valid. */
  expiredStatus: number;
}

export const text = z.string().min(1);

/** Reads the body of a submit by the schema of the service. */
export const readBy =
  <T>(schema: z.ZodType<T>, toRequest: (body: T) => VideoRequest): DialectRoute['read'] =>
  (body) => {
    const parsed = schema.safeParse(body);
    if (parsed.success) return parseRequest(toRequest(parsed.data));
    return { ok: false, problem: z.prettifyError(parsed.error) };
  };

/** The resolution behind a size such as 1280x720: its shorter side. */
export function resolutionOf(size: string | undefined): VideoRequest['resolution'] {
  const [, width, height] = /^(\d+)[x*](\d+)$/.exec(size ?? '') ?? [];
  const shorter = `${Math.min(Number(width), Number(height))}p`;
  return RESOLUTIONS.find((one) => one === shorter);
}
