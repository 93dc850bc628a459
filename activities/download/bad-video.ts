/** The download is not a complete video. */
export class BadVideo extends Error {
  override readonly name = 'BadVideo';
}

export class VideoTooLarge extends Error {
  override readonly name = 'VideoTooLarge';

  constructor(readonly largestBytes: number) {
    super(`it has more than ${largestBytes} bytes`);
  }
}
