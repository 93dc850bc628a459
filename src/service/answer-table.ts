import type { Call, FailureType } from '../contract/failure-table';

/** A submit is a `resubmit` when the service may have received its idempotency key before. */
export type AnsweredCall = Call | 'resubmit';

const each = (statuses: readonly number[], type: FailureType): Record<number, FailureType> =>
  Object.fromEntries(statuses.map((status) => [status, type]));

const SUBMIT: Record<number, FailureType> = {
  // 303 (and 302, by custom) redirects after a POST was processed. Other redirects ask to send it elsewhere.
  ...each([302, 303], 'SubmitUnconfirmed'),
  ...each([401, 402, 403], 'Unauthorized'),
  // The address is wrong, not the request.
  ...each([404, 405], 'AnswerUnreadable'),
  // The idempotency key is in use, so the task may exist.
  409: 'SubmitUnconfirmed',
  // The service did not receive the whole request.
  408: 'ServiceUnreachable',
  429: 'RateLimited',
  // From a proxy that may have forwarded the request.
  ...each([502, 504, 520, 521, 522, 523, 524, 525, 526, 527, 598, 599], 'SubmitUnconfirmed'),
  300: 'AnswerUnreadable',
  400: 'InvalidRequest',
  500: 'ServiceFailed',
};

/** The failure behind an HTTP status, by call. An exact status wins over its class (300, 400, 500). */
export const BY_STATUS: Record<AnsweredCall, Record<number, FailureType>> = {
  submit: SUBMIT,
  // Services refuse a known key with 409 or 422; with a new key, 422 refuses the request.
  resubmit: { ...SUBMIT, 422: 'SubmitUnconfirmed' },
  poll: {
    ...each([401, 402, 403], 'Unauthorized'),
    ...each([404, 410], 'TaskUnknown'),
    429: 'RateLimited',
    ...each([300, 400], 'AnswerUnreadable'),
    500: 'ServiceFailed',
  },
  download: { 429: 'RateLimited', ...each([300, 400], 'VideoUnavailable'), 500: 'ServiceFailed' },
};

/**
 * Why a call got no usable answer, other than by its HTTP status. `not-sent`: no byte was sent. `cut`: the request may have
 * arrived, but the answer is incomplete. `unreadable`: a 2xx answer without the expected value. `refused`: a 2xx answer that
 * reports an error. `not-allowed`: a link to an address that videos may not come from, or a task id that leads elsewhere than to
 * the service, neither of which was called.
 */
export type NoAnswer = 'not-sent' | 'cut' | 'unreadable' | 'refused' | 'not-allowed';

const forSubmits = (type: FailureType) => ({ submit: type, resubmit: type });
const forReads = (type: FailureType) => ({ poll: type, download: type });

/** The failure behind each of them. A POST that may have arrived is never repeated blindly. */
export const BY_KIND: Record<NoAnswer, Record<AnsweredCall, FailureType>> = {
  'not-sent': { ...forSubmits('ServiceUnreachable'), ...forReads('ServiceUnreachable') },
  cut: { ...forSubmits('SubmitUnconfirmed'), ...forReads('ServiceUnreachable') },
  unreadable: { ...forSubmits('SubmitUnconfirmed'), ...forReads('AnswerUnreadable') },
  // Only a submit is refused: in the answer to a poll, an error describes the task. A resubmit may be refused only because
  // the key is known.
  refused: { submit: 'InvalidRequest', resubmit: 'SubmitUnconfirmed', ...forReads('AnswerUnreadable') },
  // Links are checked, and where a task id leads: the service itself may have any address. A poll that is refused so says
  // nothing about the task, because the address that this worker has for the service may be the wrong one.
  'not-allowed': {
    ...forSubmits('ServiceUnreachable'),
    poll: 'ServiceUnreachable',
    download: 'VideoUnavailable',
  },
};

/** Answers that speak of the key, the address or the load: whatever their words, they do not refuse the content. */
const NOT_ABOUT_CONTENT = [401, 402, 404, 405, 408, 409, 429];

/** Whether a refused submit with this status can be a refusal of its content. A 5xx may have any reason. */
export function mayRefuseContent(status: number): boolean {
  return status >= 400 && status <= 499 && !NOT_ABOUT_CONTENT.includes(status);
}

/** By these, a service says that it takes no requests at the moment. Any other server error may come after it made a task. */
const TAKES_NOTHING = [503, 529];

/**
 * Whether an answer to a submit says for certain that no task was made. Without that, only the same service may be asked
 * again: it knows the idempotency key, and the next one of a job's services does not.
 */
export function isCertainRefusal(status: number): boolean {
  return (status >= 300 && status <= 499) || TAKES_NOTHING.includes(status);
}

export function failureOfStatus(call: AnsweredCall, status: number): FailureType {
  const statusClass = Math.floor(status / 100) * 100;
  return BY_STATUS[call][status] ?? BY_STATUS[call][statusClass] ?? 'AnswerUnreadable';
}
