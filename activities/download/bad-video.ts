/** The download is not a complete video. */
export class BadVideo extends Error {
  override readonly name = 'BadVideo';
}

export class TooManyBytes extends Error {
  override readonly name = 'TooManyBytes';

  constructor(readonly largestBytes: number) {
    super(`it has more than ${largestBytes} bytes`);
  }
}
