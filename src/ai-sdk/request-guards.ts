import type { JsonValue } from './video-model-types';

/** The model is not to go on: what it was called for is known. */
export class ModelStopped extends Error {
  override readonly name = 'ModelStopped';
}

interface GuardedRequest {
  method: string;
  url: string;
}

const isRead = ({ method }: GuardedRequest) => method === 'GET' || method === 'HEAD';

/** A model retries nothing that may pay for a task: a second POST is ours to decide. It may still upload an image first. */
export function guardStart(): (request: GuardedRequest) => undefined {
  const sent = new Set<string>();
  return (request) => {
    const name = `${request.method} ${request.url}`;
    if (!isRead(request) && sent.has(name)) throw new ModelStopped('the model would send its request again');
    sent.add(name);
    return undefined;
  };
}

/** Polls send what they need: some services are asked by POST. */
export const guardNothing = (): undefined => undefined;

/** Lets one POST of `doGenerate` through and stops the model when it begins to poll. */
export class GenerateStart {
  /** The model has taken the answer for that of a task, and wants to poll. */
  hasStopped = false;
  private hasPosted = false;

  readonly guard = (request: GuardedRequest): undefined => {
    if (this.hasPosted) {
      this.hasStopped = true;
      throw new ModelStopped('the model wants to poll');
    }
    this.hasPosted = !isRead(request);
    return undefined;
  };
}

/** More than a provider needs for one poll: the task, then its file. */
const MOST_READS = 4;

/**
 * Lets `doGenerate` poll once: its POST is answered from the record of the first one and never sent, and each address is read
 * once. A model that asks for the same again has found its task in progress.
 */
export class GeneratePoll {
  hasStopped = false;
  private hasAnswered = false;
  private readonly read = new Set<string>();

  /** `onPost` learns where the model would post, which nothing in the answer has a say in. */
  constructor(
    private readonly answer: JsonValue,
    private readonly onPost: (url: string) => void,
  ) {}

  readonly guard = (request: GuardedRequest): Response | undefined => {
    if (!isRead(request)) {
      if (this.hasAnswered) throw this.stop();
      this.hasAnswered = true;
      this.onPost(request.url);
      return Response.json(this.answer);
    }
    // Before its POST a model has no task to read.
    if (this.read.has(request.url) || this.read.size >= MOST_READS) throw this.stop();
    this.read.add(request.url);
    return undefined;
  };

  private stop(): ModelStopped {
    this.hasStopped = true;
    return new ModelStopped('the model polls again');
  }
}
