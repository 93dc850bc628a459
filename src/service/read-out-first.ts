import type { Readable } from 'node:stream';
import { DecoratorHandler, type Dispatcher } from 'undici';

/**
 * When a connection breaks, undici drops what has arrived and was not read yet. Of a video it is worth keeping, so the
 * end is told only when everything before it has been read.
 */
export class ReadOutFirst {
  private body: Readable | undefined;
  private fail: (() => void) | undefined;

  /** To be composed into the dispatcher of one request. */
  readonly interceptor: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
    dispatch(options, new LateFailure(handler, (fail) => this.onFailure(fail)));

  /** The body of that request, as soon as it is there. */
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
    // Whoever has destroyed it does not read on.
    const isRead = body === undefined || body.destroyed || body.readableLength === 0;
    if (fail === undefined || !isRead) return;
    this.fail = undefined;
    fail();
  }
}

class LateFailure extends DecoratorHandler {
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
