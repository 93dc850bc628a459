import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { FAILURES } from '../../src/contract/failure-table';
import { WORKFLOW_TYPE } from '../../src/contract/names';
import { ASPECT_RATIOS, MAX_DURATION_SECONDS, RESOLUTIONS } from '../../src/contract/request';
import { VideoStates } from '../../src/gateway/video-states';
import { createFileStorage } from '../../src/storage';
import { PNG } from '../support/images';
import { closedGateway, keysNamed, temporalWith } from './closed-gateway';

let app: FastifyInstance;
beforeAll(async () => {
  ({ app } = await closedGateway({ keys: keysNamed(), temporalUiUrl: 'http://temporal.example' }));
});
afterAll(() => app.close());

const document = async () => (await app.inject('/openapi.json')).json();

it('the document says who needs a key, and which services there are', async () => {
  const { paths, security } = await document();
  expect([security, paths['/livez'].get.security]).toEqual([[{ key: [] }], []]);
  const one = { profile: undefined, requestFields: [] };
  const { app: open } = await closedGateway({ services: { services: { fal: one, veo: one } } });
  const withServices = (await open.inject('/openapi.json')).json();
  expect(withServices.security).toEqual([]);
  const { properties } = withServices.components.schemas.CreateVideo;
  expect(properties.service).toMatchObject({ enum: ['fal', 'veo'] });
  await open.close();
});

test('every file of the page has a type and a strict policy, is never cached, and its choices are those of the contract', async () => {
  for (const [path, type] of Object.entries({
    '/': 'text/html',
    '/page.css': 'text/css',
    '/page.mjs': 'text/javascript',
    '/icon.svg': 'image/svg+xml',
    '/page.json': 'application/json',
  })) {
    const { statusCode, headers } = await app.inject(path);
    expect([path, statusCode, headers['content-type']]).toEqual([path, 200, expect.stringContaining(type)]);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';");
    expect(policy).not.toContain('unsafe');
    // A new version of the gateway must not meet half of an old page.
    expect(headers['cache-control']).toBe('no-store');
  }
  const facts = (await app.inject('/page.json')).json();
  expect(facts).toMatchObject({
    resolutions: RESOLUTIONS,
    aspectRatios: ASPECT_RATIOS,
    maxDurationSeconds: MAX_DURATION_SECONDS,
  });
  expect(Object.keys(facts.failures)).toEqual(Object.keys(FAILURES));
  // Only who has a key learns where the workflows are.
  expect(facts).not.toHaveProperty('workflowUrl');
});

describe('a video that Temporal knows', () => {
  /** Jobs by the ids of their videos. Those with a result have ended. */
  const jobs = new Map<string, { memo: object; result?: object }>();
  let folder: string;
  let broken: string;
  let gateway: FastifyInstance;
  let ofBroken: Awaited<ReturnType<typeof closedGateway>>;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-content-'));
    broken = join(folder, 'broken');
    symlinkSync(broken, broken);
    const startTime = new Date(0);
    const getHandle = (workflowId: string) => {
      const { memo, result } = jobs.get(workflowId.slice(-ID_CHARS)) ?? {};
      const closeTime = result && startTime;
      return {
        describe: async () => ({ type: WORKFLOW_TYPE, memo, startTime, closeTime }),
        result: async () => result,
      };
    };
    const client = temporalWith({ getHandle });
    ({ app: gateway } = await closedGateway({ client, storage: createFileStorage(folder) }));
    ofBroken = await closedGateway({ client, storage: createFileStorage(broken) });
  });
  afterAll(async () => {
    await Promise.all([gateway.close(), ofBroken.app.close()]);
    rmSync(folder, { recursive: true });
  });

  const ID_CHARS = 38;
  const add = (job: { memo?: object; result?: object }) => {
    const id = `video_${String(jobs.size).padStart(ID_CHARS - 6, '0')}`;
    jobs.set(id, { memo: {}, ...job });
    return id;
  };
  const resultWith = (video: object) => ({ taskId: 'task_1', polls: 1, waitedMs: 1, warnings: [], video });

  it('costs its estimate while the job runs, what was charged at its end, and nothing by nonsense', async () => {
    const [estimated, charged] = [0.5, 0.45].map((amount) => ({ amount, currency: 'USD' }));
    const none = { estimated: null, charged: null, unknown: null };
    const costOf = async (job: Parameters<typeof add>[0]) =>
      (await gateway.inject(`/v1/videos/${add(job)}`)).json().cost;
    const memo = { videoCost: { estimated, service: 'Ark' } };
    expect(await costOf({ memo })).toEqual({ ...none, estimated });
    const ended = resultWith({ uri: 'file:///fox.mp4', bytes: 1, sha256: '', contentType: 'video/mp4' });
    expect(await costOf({ memo, result: ended })).toEqual({ ...none, estimated });
    expect(await costOf({ memo, result: { ...ended, cost: { charged } } })).toEqual({ ...none, charged });
    expect(await costOf({ memo: { videoCost: { estimated: 'much' } } })).toBeNull();
  });

  const TEXT = '0123456789'.repeat(100);
  const SHA256 = 'ab'.repeat(32);
  /** A stored video, and the path of its content. */
  const store = (root: string) => {
    const file = join(root, `${jobs.size}.mp4`);
    if (root === folder) writeFileSync(file, TEXT);
    const uri = pathToFileURL(file).href;
    const video = { uri, bytes: TEXT.length, sha256: SHA256, contentType: 'video/mp4' };
    const id = add({ result: resultWith(video) });
    return { id, file, url: `/v1/videos/${id}/content` };
  };

  it('is 404 with the reason until it is there', async () => {
    const answer = await gateway.inject(`/v1/videos/${add({})}/content`);
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'not_ready']);
  });

  it('is sent whole, in part, or not at all to who has it by its ETag', async () => {
    const { id, url } = store(folder);
    const ask = (call: InjectOptions = {}) => gateway.inject({ url, ...call });
    const whole = await ask({ url: `${url}?variant=video` });
    expect([whole.statusCode, whole.body]).toEqual([200, TEXT]);
    expect(whole.headers).toMatchObject({
      etag: `"${SHA256}"`,
      'content-disposition': `inline; filename="${id}.mp4"`,
    });
    for (const [range, first, last] of [
      ['bytes=0-9', 0, 9],
      ['bytes=994-', 994, 999],
      ['bytes=-6', 994, 999],
    ] as const) {
      const { statusCode, headers, body } = await ask({ headers: { range } });
      const shown = `bytes ${first}-${last}/1000`;
      expect([statusCode, headers['content-range'], body]).toEqual([206, shown, TEXT.slice(first, last + 1)]);
    }
    expect((await ask({ headers: { range: 'bytes=1000-' } })).statusCode).toBe(416);
    expect((await ask({ headers: { 'if-none-match': `"${SHA256}"` } })).statusCode).toBe(304);
    const head = await ask({ method: 'HEAD' });
    expect([head.statusCode, head.headers['content-length']]).toEqual([200, '1000']);
    expect((await ask({ url: `${url}?variant=thumbnail` })).statusCode).toBe(400);
  });

  it('is cut off if its file became shorter, is an error if it became longer, and 404 for HEAD too if it is gone', async () => {
    const { file, url } = store(folder);
    const address = (await gateway.listen({ host: '127.0.0.1', port: 0 })) + url;
    writeFileSync(file, 'short');
    await expect(fetch(address).then((answer) => answer.text())).rejects.toThrow('terminated');
    writeFileSync(file, `${TEXT}more`);
    expect((await fetch(address)).status).toBe(500);
    rmSync(file);
    expect((await fetch(address, { method: 'HEAD' })).status).toBe(404);
  });

  it('is a 503 if the storage fails, as is an upload, and the reason is in the log alone', async () => {
    const upload = { method: 'POST', headers: { 'content-type': 'image/png' }, payload: PNG } as const;
    for (const call of [{ url: store(broken).url }, { url: '/v1/images', ...upload }]) {
      ofBroken.lines.splice(0);
      const answer = await ofBroken.app.inject(call);
      const message = 'The storage of the videos does not answer. Nothing is lost: try again.';
      expect([answer.statusCode, answer.headers['retry-after'], answer.json()]).toMatchObject([
        503,
        '1',
        { error: { code: 'storage_unavailable', type: 'server_error', message } },
      ]);
      const requestId = answer.headers['x-request-id'];
      const error = expect.stringMatching(/^StorageFault: .*ELOOP/);
      expect(ofBroken.lines.map((line) => JSON.parse(line))).toMatchObject([
        { level: 'error', requestId, error },
        { level: 'error', requestId, status: 503 },
      ]);
    }
  });
});

test('what was read about videos is dropped when it is no longer fresh', async () => {
  const describe = async () => Promise.reject(new WorkflowNotFoundError('', '', undefined));
  const client: Client = temporalWith({ getHandle: () => ({ describe }) });
  const states = new VideoStates(client, createFileStorage('/nowhere'));
  for (const name of ['a', 'b', 'c']) await states.read(name, name);
  await sleep(5);
  await states.read('d', 'd');
  expect([...Reflect.get(states, 'entries').keys()]).toEqual(['d']);
});
