import { JOB_FIELDS } from '../contract/input-rules';
import { Refusal } from './http-errors';

/** The body without `callback_url`, which is for the gateway and not for the service, and the job option it becomes. */
export function takeCallbackUrl(body: unknown): { body: unknown; options: { callbackUrl?: string } } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { body, options: {} };
  const { callback_url: callbackUrl, ...rest }: { callback_url?: unknown } = body;
  if (callbackUrl === undefined || callbackUrl === null) return { body: rest, options: {} };
  const { accepts, sentence } = JOB_FIELDS.callbackUrl;
  if (accepts(callbackUrl)) return { body: rest, options: { callbackUrl } };
  throw new Refusal({
    status: 400,
    code: 'invalid_request',
    message: `callback_url ${sentence}.`,
    param: 'callback_url',
  });
}
