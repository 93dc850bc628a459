import { Agent, request } from 'undici';
import { IMITATIONS, type ImitatedService, startImitatedService } from './servers';
import { PROVIDER_NAMES, type ProviderName } from './what-runs';

const agent = new Agent();
afterAll(() => agent.destroy());

/** How each service names the key, where it is sent to, and a body that it takes. */
const SUBMITS: Record<
  ProviderName,
  { path: string; key: (key: string) => Record<string, string>; body: object }
> = {
  fal: {
    path: '/fal-ai/veo3',
    key: (key) => ({ authorization: `Key ${key}` }),
    body: { prompt: 'A red fox', duration: '8s' },
  },
  replicate: {
    path: '/v1/models/bytedance/seedance-1-lite/predictions',
    key: (key) => ({ authorization: `Bearer ${key}` }),
    body: { input: { prompt: 'A red fox' } },
  },
  google: {
    path: '/v1beta/models/veo-3.1-generate-preview:predictLongRunning',
    key: (key) => ({ 'x-goog-api-key': key }),
    body: { instances: [{ prompt: 'A red fox' }], parameters: { sampleCount: 1 } },
  },
  xai: {
    path: '/v1/videos/generations',
    key: (key) => ({ authorization: `Bearer ${key}` }),
    body: { model: 'grok-imagine-video', prompt: 'A red fox' },
  },
  alibaba: {
    path: '/api/v1/services/aigc/video-generation/video-synthesis',
    key: (key) => ({ authorization: `Bearer ${key}`, 'x-dashscope-async': 'enable' }),
    body: { model: 'wan3.0-video', input: { prompt: 'A red fox' }, parameters: {} },
  },
  'google-vertex': {
    path: '/v1/publishers/google/models/veo-3.1-generate-001:predictLongRunning',
    key: (key) => ({ 'x-goog-api-key': key }),
    body: { instances: [{ prompt: 'A red fox' }], parameters: { sampleCount: 1 } },
  },
};

/** What each service answers to: no key, a wrong key, an unknown path, a body without a prompt. */
const REFUSALS: Record<ProviderName, [noKey: number, wrongKey: number, noPath: number, wrongBody: number]> = {
  fal: [401, 401, 404, 200],
  replicate: [401, 401, 404, 422],
  google: [403, 400, 404, 400],
  xai: [401, 400, 404, 400],
  alibaba: [401, 401, 404, 400],
  'google-vertex': [403, 400, 404, 400],
};

async function post(service: ImitatedService, path: string, headers: Record<string, string>, body: object) {
  const answer = await request(`${service.origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    dispatcher: agent,
  });
  await answer.body.dump();
  return answer.statusCode;
}

test.each(PROVIDER_NAMES)('the service of @ai-sdk/%s refuses what the real one refuses', async (name) => {
  const service = await startImitatedService(IMITATIONS[name]);
  const { path, key, body } = SUBMITS[name];
  const right = key(service.apiKey);
  const answers = [
    await post(service, path, {}, body),
    await post(service, path, key('wrong'), body),
    await post(service, `${path}/elsewhere`, right, body),
    await post(service, path, right, {}),
  ];
  expect(answers).toEqual(REFUSALS[name]);
  expect(service.tasks('A red fox')).toEqual([]);
  expect(await post(service, path, right, body)).toBeLessThan(300);
  expect(service.tasks('A red fox')).toHaveLength(1);
  await service.close();
});
