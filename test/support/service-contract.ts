import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VideoRequest } from '../../src/contract/request';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import type { EmulatedTask } from '../../src/testing/task-store';

/** A server of the service's interface, whatever makes its videos. */
export interface ContractServer {
  url: string;
  apiKey: string;
  /** Everything that was paid for so far. */
  generations(): readonly EmulatedTask[];
  /** The video of a generation. */
  video(taskId: string): Promise<Buffer>;
}

const TEXT = '/v1/videos/text-to-video';
const IMAGE = '/v1/videos/image-to-video';
const FOX = { prompt: 'A red fox' };
const FOX_IMAGE = { ...FOX, image_url: 'https://example.com/fox.png' };

/** The values of each field are in test/contract; these show that the fields arrive. */
const ACCEPTED: [path: string, request: object][] = [
  [TEXT, FOX],
  [IMAGE, FOX_IMAGE],
  [TEXT, FOX_IMAGE],
  [IMAGE, { ...FOX_IMAGE, resolution: '480p', aspect_ratio: '21:9', duration: 1, seed: -7 }],
];

const REFUSED: [what: string, path: string, request: unknown, problem: string][] = [
  ['without a prompt', TEXT, {}, 'prompt is missing'],
  ['for image to video without an image', IMAGE, FOX, 'image_url is missing'],
  ['for image to video without a prompt', IMAGE, { image_url: FOX_IMAGE.image_url }, 'prompt is missing'],
  ['with a duration beyond 10', TEXT, { ...FOX, duration: 11 }, 'duration must be at most 10'],
  ['with an unknown field', TEXT, { ...FOX, colour: 'red' }, '"colour": not a field'],
  ['that is a list', TEXT, [], 'must be a JSON object'],
  ['that is broken JSON', TEXT, '{"prompt":', 'JSON'],
  ['that is empty', TEXT, '', ''],
];

/** The tests of the interface, for every server of it: the emulator, and the gateway in front of it. */
export function describeServiceContract(server: () => ContractServer): void {
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${server().apiKey}` };
    const answer = await fetch(server().url + path, { headers, redirect: 'manual', ...init });
    const text = await answer.text();
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    return { status: answer.status, body: JSON.parse(text) };
  };
  const post = (path: string, body: unknown, headers: Record<string, string>) =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const authorized = () => ({ authorization: `Bearer ${server().apiKey}` });

  it('accepts requests with and without an image and options, with HTTP 200 and a task id each', async () => {
    const answers = await Promise.all(ACCEPTED.map(([path, request]) => post(path, request, authorized())));
    expect(answers.map(({ status }) => status)).toEqual(ACCEPTED.map(() => 200));
    const ids = answers.map(({ body }) => body.task_id);
    expect(ids.filter((id) => typeof id === 'string' && id !== '')).toHaveLength(ACCEPTED.length);
    expect(new Set(ids).size).toBe(ACCEPTED.length);
  });

  it.each(REFUSED)(
    'refuses a request %s with HTTP 400 and a JSON error',
    async (_what, path, request, problem) => {
      const { status, body } = await post(path, request, authorized());
      expect([status, body]).toMatchObject([400, { error: { message: expect.stringContaining(problem) } }]);
    },
  );

  it('answers 401 to a key that is missing, wrong or elsewhere, before it reads the body', async () => {
    const { apiKey } = server();
    const keys: Record<string, string>[] = [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: `Bearer ${apiKey}x` },
      { authorization: apiKey },
      { authorization: `Basic ${apiKey}` },
      { 'x-api-key': apiKey },
    ];
    for (const headers of keys) {
      const answers = await Promise.all([
        post(TEXT, FOX, headers),
        post(IMAGE, '{"broken', headers),
        ask('/v1/videos/any', { headers }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
    }
  });

  it.each(['no-such-task', 'text-to-video', 'a%2Fb'])(
    'answers 404 about the unknown task %s',
    async (taskId) => {
      expect(await ask(`/v1/videos/${taskId}`)).toMatchObject({
        status: 404,
        body: { error: { message: expect.any(String) } },
      });
    },
  );

  it('answers 400 to an id that cannot be decoded', async () => {
    expect((await ask('/v1/videos/%E0%A4%A')).status).toBe(400);
  });

  describe('to our own client', () => {
    let service: OpenedVideoService;
    beforeAll(() => {
      const { url, apiKey } = server();
      service = createVideoService({ baseUrl: url, apiKey: () => apiKey });
    });
    afterAll(() => service.close());

    const request: VideoRequest = { prompt: 'A red fox, “äöü 狐”', resolution: '480p', duration: 1, seed: 7 };

    it('is a service: a submit, polls until the task succeeds, and a download', async () => {
      const before = server().generations().length;
      const { taskId, doubts } = await service.start(request, { idempotencyKey: 'contract' });
      expect(doubts).toEqual([]);
      let reading = await service.status(taskId);
      while (reading.task.state !== 'succeeded') {
        expect(['queued', 'running']).toContain(reading.task.state);
        await sleep(200);
        reading = await service.status(taskId);
      }
      expect(reading.doubts).toEqual([]);
      const [made, ...others] = server()
        .generations()
        .slice(before)
        .filter(({ request: { seed } }) => seed === 7);
      expect([made?.request, others]).toEqual([request, []]);
      const { stream } = await service.open(reading.task.videoUrl ?? '');
      const sha256 = createHash('sha256');
      for await (const chunk of stream) sha256.update(chunk);
      const expected = await server().video(made?.taskId ?? '');
      expect(sha256.digest('hex')).toBe(createHash('sha256').update(expected).digest('hex'));
    });
  });
}
