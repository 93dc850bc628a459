import type { Readable } from 'node:stream';
import { DecoratorHandler, type Dispatcher } from 'undici';

/**
 * When a connection breaks, undici drops the bytes that have arrived but were not read. A resumed download needs them, so
 * the error is passed on only after all of them have been read.
 */
export class FailAfterRead {
  private body: Readable | undefined;
  private fail: (() => void) | undefined;

  /** Compose it into the dispatcher of one request. */
  readonly interceptor: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
    dispatch(options, new DelayedFailure(handler, (fail) => this.onFailure(fail)));

  /** Call it with the body of that request as soon as it is there. */
  watch(body: Readable): void {
    this.body = body;
    const read = body.read.bind(body);
    body.read = (size?: number) => {
      const chunk: unknown = read(size);
      if (chunk === null) this.failWhenEmpty();
      return chunk;
    };
  }

  private onFailure(fail: () => void): void {
    this.fail = fail;
    this.failWhenEmpty();
  }

  private failWhenEmpty(): void {
    const { body, fail } = this;
    // A destroyed body is not read any further.
    const isRead = body === undefined || body.destroyed || body.readableLength === 0;
    if (fail === undefined || !isRead) return;
    this.fail = undefined;
    fail();
  }
}

class DelayedFailure extends DecoratorHandler {
  constructor(
    private readonly inner: Dispatcher.DispatchHandler,
    private readonly onFailure: (fail: () => void) => void,
  ) {
    super(inner);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.onFailure(() => this.inner.onResponseError?.(controller, error));
  }
}
