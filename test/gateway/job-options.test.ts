import { Refusal } from '../../src/gateway/http-errors';
import { settleImage } from '../../src/gateway/images';
import { takeJobOptions } from '../../src/gateway/job-options';
import { readImageRequest } from '../../src/gateway/video-requests';
import { createFileStorage } from '../../src/storage';

const VIDEO = `video_${'0a'.repeat(16)}`;
const prompt = 'The fox looks up';

const refusalOf = (take: () => unknown) => {
  try {
    take();
  } catch (error) {
    if (error instanceof Refusal) return error.refused;
    throw error;
  }
  throw new Error('it was accepted');
};

test('extras are the option of the job, as a list or as the text of a form', () => {
  for (const extras of [['poster', 'last-frame'], 'poster, last-frame']) {
    expect(takeJobOptions({ prompt, extras }, 'shop')).toEqual({
      body: { prompt },
      options: { extras: ['poster', 'last-frame'] },
    });
  }
  expect(refusalOf(() => takeJobOptions({ prompt, extras: ['gif'] }, 'shop'))).toMatchObject({
    param: 'extras',
    message: 'extras must be a list of poster and last-frame, each at most once.',
  });
});

describe('continue_from', () => {
  it('is the image of the request: the last frame of a video of the same key', () => {
    const { body } = takeJobOptions({ prompt, continue_from: VIDEO }, 'shop');
    const image_url = `videogen-last-frame:gateway-shop-${VIDEO}`;
    expect(body).toEqual({ prompt, image_url });
    expect(readImageRequest(body, []).request).toEqual({ prompt, image_url });
  });

  it.each([
    ['another word', { continue_from: 'fox-1' }, 'must be the id of a finished video of this key'],
    ['a number', { continue_from: 7 }, 'must be the id of a finished video of this key'],
    [
      'an image beside it',
      { continue_from: VIDEO, image_url: 'https://a.example/a.png' },
      'give one of them',
    ],
    [
      'a file beside it',
      { continue_from: VIDEO, input_reference: 'https://a.example/a.png' },
      'give one of them',
    ],
  ])('is refused with %s', (_what, fields, message) => {
    expect(refusalOf(() => takeJobOptions({ prompt, ...fields }, 'shop'))).toMatchObject({
      status: 400,
      param: 'continue_from',
      message: expect.stringContaining(message),
    });
  });

  it('cannot be had for the video of another key by naming its workflow', async () => {
    const settle = (imageUrl: string) =>
      settleImage(
        createFileStorage('/nowhere'),
        { body: {}, field: 'image_url' },
        { imageUrl, caller: 'shop' },
      );
    await settle(`videogen-last-frame:gateway-shop-${VIDEO}`);
    for (const job of [`gateway-press-${VIDEO}`, 'fox-1', 'gateway-shopping-fox', '']) {
      await expect(settle(`videogen-last-frame:${job}`)).rejects.toThrow('was not made with this key');
    }
    await expect(settle(`VIDEOGEN-last-frame:gateway-shop-${VIDEO}`)).rejects.toThrow(
      'was not made with this key',
    );
  });
});
