import { randomUUID } from 'node:crypto';
import { readApiKey, readProfile } from '../../config/service-config';
import { cleanText } from '../../contract/clean-text';
import { createVideoService, ServiceFault, type TaskReading } from '../../service';
import { type Check, type Finding, ok, warning, wrong } from './check';
import { CALL_LIMIT_MS } from './limits';
import { namedService } from './named-service';

const SET_KEY = 'Set VIDEO_API_KEY (or the file of VIDEO_API_KEY_FILE) to a key of this service.';
const SET_ADDRESS = 'Set VIDEO_API_BASE_URL to the address of the video service, without /v1.';
const LATER = 'Ask again later.';

/** Enough to know what it is about. */
const LONGEST_WORDS = 200;

type Verdict = { state: 'ok' } | { state: 'warning' | 'wrong'; means: string; fix: string };

const NOT_THE_SERVICE: Verdict = {
  state: 'wrong',
  means: 'it is probably not the video service',
  fix: SET_ADDRESS,
};

/** What the answer to a look at a task that does not exist means: an exact status first, then its hundred. */
export const BY_STATUS: Record<number, Verdict> = {
  401: { state: 'wrong', means: 'the key is refused', fix: SET_KEY },
  402: { state: 'wrong', means: 'the account has no credit', fix: 'Pay the account up at the service.' },
  403: { state: 'wrong', means: 'the key is refused', fix: SET_KEY },
  404: { state: 'ok' },
  405: NOT_THE_SERVICE,
  410: { state: 'ok' },
  429: { state: 'warning', means: 'it was asked too often to tell', fix: LATER },
  200: {
    state: 'wrong',
    means: 'there is no such task, so it is probably not the video service',
    fix: SET_ADDRESS,
  },
  300: { state: 'wrong', means: 'it is elsewhere', fix: `${SET_ADDRESS} Often https:// is missing.` },
  400: { state: 'warning', means: 'the key is not refused in so many words', fix: 'Read what it says.' },
  500: { state: 'wrong', means: 'it fails by itself', fix: LATER },
};

/** A service that answers everything with 200 says in the body what became of the call. */
const SAID_IN_THE_BODY: Verdict = {
  state: 'warning',
  means: 'it speaks of the task in the body',
  fix: 'Read what it says.',
};

const BY_KIND: Record<Exclude<ServiceFault['kind'], 'answered'>, Verdict> = {
  'not-sent': { state: 'wrong', means: 'the question could not be sent', fix: LATER },
  cut: { state: 'wrong', means: 'no whole answer came', fix: LATER },
  unreadable: NOT_THE_SERVICE,
  refused: SAID_IN_THE_BODY,
  'not-allowed': { state: 'wrong', means: 'the question could not be sent', fix: SET_ADDRESS },
};

export const checkKey: Check = {
  name: 'key',
  needs: ['service'],
  async run(context, signal) {
    const named = namedService(context);
    if (named.kind === 'none') return ok(named.found);
    const patience = { headersTimeout: CALL_LIMIT_MS, bodyTimeout: CALL_LIMIT_MS };
    const service = createVideoService({
      baseUrl: named.baseUrl,
      apiKey: readApiKey(context.env),
      profile: readProfile(context.env),
      timeouts: { connect: CALL_LIMIT_MS, poll: patience },
    });
    try {
      // A look costs nothing, and for a task that nobody has made there is one right answer.
      return judgeReading(await service.poll(`doctor-${randomUUID()}`, { signal }));
    } catch (error) {
      if (error instanceof ServiceFault) return judgeFault(error);
      throw error;
    } finally {
      await service.close();
    }
  },
};

function judgeReading({ serviceMessage, taskId }: TaskReading): Finding {
  const words = wordsIn(serviceMessage);
  const verdict = words !== '' && taskId === undefined ? SAID_IN_THE_BODY : verdictOf(200);
  return finding('answered 200', verdict, words);
}

function judgeFault({ kind, facts }: ServiceFault): Finding {
  const words = wordsIn(facts);
  const answered = facts.status === undefined ? 'no answer' : `answered ${facts.status}`;
  if (kind !== 'answered') return finding(answered, BY_KIND[kind], words);
  // A web server that has no such page says 404 too, to any key.
  const isPage = /^\s*<(!doctype|html|\?xml)/i.test(facts.message ?? '');
  return finding(answered, isPage ? NOT_THE_SERVICE : verdictOf(facts.status ?? 0), words);
}

function wordsIn({ code, message }: { code?: string; message?: string }): string {
  return cleanText([code, message].filter(Boolean).join(': '), LONGEST_WORDS);
}

function verdictOf(status: number): Verdict {
  return BY_STATUS[status] ?? BY_STATUS[Math.floor(status / 100) * 100] ?? NOT_THE_SERVICE;
}

function finding(answered: string, verdict: Verdict, words: string): Finding {
  if (verdict.state === 'ok') return ok(`taken (${answered} to a task that does not exist)`);
  const found = `${answered}: ${verdict.means}${words && ` (${words})`}`;
  return verdict.state === 'warning' ? warning(found, verdict.fix) : wrong(found, verdict.fix);
}
