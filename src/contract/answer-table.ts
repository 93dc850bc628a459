import type { Call, FailureType } from './failure-table';

/** A submit is another matter when its idempotency key may have reached the service before. */
export type AnsweredCall = Call | 'resubmit';

const SUBMIT: Record<number, FailureType> = {
  // "See other" is said of a POST that was done, and many say 302 for it. After the others the POST is still to be sent
  // elsewhere, so it made nothing here.
  302: 'SubmitUnconfirmed',
  303: 'SubmitUnconfirmed',
  401: 'Unauthorized',
  402: 'Unauthorized',
  403: 'Unauthorized',
  // Nothing is there that generates videos: the address is wrong, not the request.
  404: 'AnswerUnreadable',
  405: 'AnswerUnreadable',
  // The idempotency key is in use: the task may exist already.
  409: 'SubmitUnconfirmed',
  // The whole request never arrived.
  408: 'ServiceUnreachable',
  429: 'RateLimited',
  // Said by something between us and the service, which may have passed the request on.
  502: 'SubmitUnconfirmed',
  504: 'SubmitUnconfirmed',
  520: 'SubmitUnconfirmed',
  524: 'SubmitUnconfirmed',
  300: 'AnswerUnreadable',
  400: 'InvalidRequest',
  500: 'ServiceFailed',
};

/** Which failure an HTTP status means, by call: an exact status first, then its hundred. */
export const BY_STATUS: Record<AnsweredCall, Record<number, FailureType>> = {
  submit: SUBMIT,
  // Services refuse a key that they know with 409 or with 422; for a new key 422 is a refused request.
  resubmit: { ...SUBMIT, 422: 'SubmitUnconfirmed' },
  poll: {
    401: 'Unauthorized',
    402: 'Unauthorized',
    403: 'Unauthorized',
    404: 'TaskUnknown',
    410: 'TaskUnknown',
    429: 'RateLimited',
    300: 'AnswerUnreadable',
    400: 'AnswerUnreadable',
    500: 'ServiceFailed',
  },
  download: {
    429: 'RateLimited',
    300: 'VideoUnavailable',
    400: 'VideoUnavailable',
    500: 'ServiceFailed',
  },
};

/**
 * Why a call brought no usable answer, when it was not an HTTP status: `not-sent` no byte of the request left; `cut` the
 * request, or a part of it, may have arrived and no whole answer came back; `unreadable` a 2xx answer without what the
 * call was made for; `refused` a 2xx answer that says no; `not-allowed` a link that leads where no video may come from, so that nobody there was asked.
 */
export type NoAnswer = 'not-sent' | 'cut' | 'unreadable' | 'refused' | 'not-allowed';

/** Which failure that is. A POST that may have arrived is never sent again blindly. */
export const BY_KIND: Record<NoAnswer, Record<AnsweredCall, FailureType>> = {
  'not-sent': {
    submit: 'ServiceUnreachable',
    resubmit: 'ServiceUnreachable',
    poll: 'ServiceUnreachable',
    download: 'ServiceUnreachable',
  },
  cut: {
    submit: 'SubmitUnconfirmed',
    resubmit: 'SubmitUnconfirmed',
    poll: 'ServiceUnreachable',
    download: 'ServiceUnreachable',
  },
  unreadable: {
    submit: 'SubmitUnconfirmed',
    resubmit: 'SubmitUnconfirmed',
    poll: 'AnswerUnreadable',
    download: 'AnswerUnreadable',
  },
  // Only a submit is: of a task, an error in the answer tells how the task is. A key that the service knows may be refused
  // for that alone.
  refused: {
    submit: 'InvalidRequest',
    resubmit: 'SubmitUnconfirmed',
    poll: 'AnswerUnreadable',
    download: 'AnswerUnreadable',
  },
  // Only a link is looked at in that way: the service itself may be anywhere.
  'not-allowed': {
    submit: 'ServiceUnreachable',
    resubmit: 'ServiceUnreachable',
    poll: 'ServiceUnreachable',
    download: 'VideoUnavailable',
  },
};

export function failureOfStatus(call: AnsweredCall, status: number): FailureType {
  const hundred = Math.floor(status / 100) * 100;
  return BY_STATUS[call][status] ?? BY_STATUS[call][hundred] ?? 'AnswerUnreadable';
}
