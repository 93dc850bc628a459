import { SIZES } from '../../src/client/video-size';
import { Refusal } from '../../src/gateway/http-errors';
import { readImageRequest, readOpenAiRequest, readServiceRequest } from '../../src/gateway/video-requests';

const refusalOf = (read: () => unknown) => {
  try {
    read();
  } catch (error) {
    if (error instanceof Refusal) return error.refused;
    throw error;
  }
  throw new Error('it was accepted');
};

describe("the request of OpenAI's clients", () => {
  it('becomes one of the service', () => {
    const body = { model: 'sora-2', prompt: 'A fox', seconds: '4', size: '1280x720' };
    expect(readOpenAiRequest(body, [])).toEqual({
      request: { prompt: 'A fox', duration: 4, resolution: '720p', aspect_ratio: '16:9' },
      asked: { model: 'sora-2', prompt: 'A fox', seconds: '4', size: '1280x720' },
    });
  });

  it('may have fields of the service beside its own', () => {
    const { request } = readOpenAiRequest(
      { prompt: 'A fox', seed: 7, input_reference: 'https://a.example/fox.png' },
      [],
    );
    expect(request).toEqual({ prompt: 'A fox', seed: 7, image_url: 'https://a.example/fox.png' });
  });

  it.each([
    [{ prompt: 'A fox', seconds: '12' }, 'seconds', 'seconds must be at most 10 (was 12).'],
    [{ prompt: 'A fox', seconds: 'long' }, 'seconds', 'seconds must be a whole number, such as "4".'],
    [{ prompt: 'A fox', size: '1024x1792' }, 'size', `size must be one of ${SIZES.join(', ')}.`],
    [{ prompt: 'A fox', input_reference: 7 }, 'input_reference', expect.stringContaining('must be the URL')],
    [{ seconds: '4' }, 'prompt', expect.stringContaining('prompt')],
    [{ prompt: 'A fox', colour: 'red' }, 'colour', expect.stringContaining('"colour": not a field')],
    ['A fox', undefined, 'The body must be a JSON object with a prompt.'],
  ])('%j is refused, and the field is named', (body, param, message) => {
    expect(refusalOf(() => readOpenAiRequest(body, []))).toMatchObject({ status: 400, message });
    expect(refusalOf(() => readOpenAiRequest(body, [])).param).toBe(param);
  });
});

it('a field that the profile of the service allows passes', () => {
  expect(readServiceRequest({ prompt: 'A fox', style: 'oil' }, ['style']).request).toEqual({
    prompt: 'A fox',
    style: 'oil',
  });
});

it('image to video needs an image', () => {
  expect(refusalOf(() => readImageRequest({ prompt: 'A fox' }, []))).toMatchObject({
    status: 400,
    param: 'image_url',
  });
});

it('answers show the beginning of a long prompt', () => {
  const prompt = 'fox '.repeat(1_000);
  const { request, asked } = readServiceRequest({ prompt }, []);
  expect(request.prompt).toBe(prompt);
  expect(asked.prompt).toHaveLength(500);
});
