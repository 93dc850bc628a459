import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import type { FastifyInstance } from 'fastify';
import { EncryptionCodec } from '../../src/encryption/encryption-codec';
import { makeEncryptionKey, parseKeyRing } from '../../src/encryption/key-ring';
import { createVideoGateway } from '../../src/gateway';
import { makeKey, openKeyFile } from '../../src/gateway/gateway-keys';
import { signWebhook } from '../../src/service';
import { WEBHOOK_SECRET } from '../support/webhook-receiver';
import { closedGateway, temporalWith } from './closed-gateway';

describe('the codec', () => {
  const ring = (key: string) => {
    const parsed = parseKeyRing(key);
    return 'ring' in parsed ? parsed.ring : undefined;
  };
  const RING = ring(makeEncryptionKey('2026-11'));
  const codec = new EncryptionCodec({ ring: RING });
  const UI = 'https://temporal.example.com';

  const base64 = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('base64');
  const inJson = ({ metadata, data }: Payload) => ({
    metadata: Object.fromEntries(
      Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)]),
    ),
    data: base64(data),
  });
  const plain = defaultPayloadConverter.toPayload({ prompt: 'PAPERMOON' });

  let folder: string;
  let ops: string;
  let shop: string;
  let app: FastifyInstance;
  let lines: string[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-codec-'));
    const keys = [makeKey('ops'), makeKey('shop')];
    [ops = '', shop = ''] = keys.map(({ key }) => key);
    const file = join(folder, 'keys');
    writeFileSync(file, keys.map(({ line }) => line).join('\n'));
    ({ app, lines } = await closedGateway({
      keys: openKeyFile(file, () => undefined),
      codec: { codec, readers: ['ops'] },
      temporalUiUrl: `${UI}/some/path`,
    }));
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  /** What the UI sends to a workflow. */
  const encrypted = async () => (await post('/codec/encode', [inJson(plain)], bearer(ops))).json().payloads;

  const post = (url: string, payloads: unknown, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...headers },
      payload: JSON.stringify({ payloads }),
    });

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  it('decodes for the UI, which has the key in its address, and for the command, which sends it in a header', async () => {
    for (const [url, headers] of [
      [`/codec/${ops}/decode?preserveStorageRefs=true`, { origin: UI, 'x-namespace': 'films' }],
      ['/codec/decode', bearer(ops)],
    ] as const) {
      const payloads = await encrypted();
      expect(JSON.stringify(payloads)).not.toContain(base64(plain.data).slice(0, 12));
      lines.splice(0);
      const answer = await post(url, payloads, headers);
      expect([answer.statusCode, answer.json()]).toEqual([200, { payloads: [inJson(plain)] }]);
      expect(answer.headers['cache-control']).toBe('private, no-store');
      // The log has who decoded how much, and neither keys nor content.
      const [line] = lines.map((one) => JSON.parse(one)).filter(({ event }) => event === 'codecUsed');
      expect(line).toMatchObject({ key: 'ops', operation: 'decode', count: 1 });
      expect(line.namespace).toBe(url.includes(ops) ? 'films' : '');
      expect(lines.join('\n')).not.toMatch(new RegExp(`${ops}|PAPERMOON|${base64(plain.data).slice(0, 12)}`));
    }
  });

  it('decodes for nobody else: without a key, with a wrong one, with one that may only make videos', async () => {
    for (const headers of [{}, bearer('vgk_wrong'), bearer(shop)]) {
      const answer = await post('/codec/decode', await encrypted(), headers);
      expect([answer.statusCode, answer.json().error.code]).toEqual([401, 'bad_key']);
    }
    expect((await post(`/codec/${shop}/decode`, await encrypted())).statusCode).toBe(401);
  });

  it('lets the page of the UI call it, and no other page, and the UI call nothing else', async () => {
    const preflight = (url: string, origin: string) =>
      app.inject({ method: 'OPTIONS', url, headers: { origin, 'access-control-request-method': 'POST' } });
    const allowed = await preflight('/codec/decode', UI);
    expect([allowed.statusCode, allowed.headers['access-control-allow-origin']]).toEqual([204, UI]);
    expect(allowed.headers['access-control-allow-headers']).toContain('x-namespace');
    for (const [url, origin] of [
      ['/codec/decode', 'https://evil.example.com'],
      ['/v1/videos', UI],
    ] as const) {
      expect((await preflight(url, origin)).headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it('takes nothing from a page that may only make videos, however the address is written', async () => {
    const origin = 'https://shop.example.com';
    const tools = { codec: { codec, readers: [] }, temporalUiUrl: UI, corsOrigins: [origin] };
    const gateway = await closedGateway(tools);
    const headers = { host: 'localhost', origin, 'content-type': 'application/json' };
    const payload = JSON.stringify({ payloads: await encrypted() });
    for (const url of ['/codec/decode', '/%63ode%63/decode']) {
      const answer = await gateway.app.inject({ method: 'POST', url, headers, payload });
      expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'cross_site']);
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
      expect(answer.headers['cache-control']).toBe('private, no-store');
    }
    await gateway.app.close();
  });

  it('says which key is missing', async () => {
    const other = new EncryptionCodec({ ring: ring(makeEncryptionKey('2020-01')) });
    const answer = await post('/codec/decode', (await other.encode([plain])).map(inJson), bearer(ops));
    const message = expect.stringContaining('with the key 2020-01, which is not among the keys');
    expect([answer.statusCode, answer.json().error]).toMatchObject([422, { code: 'not_decrypted', message }]);
  });

  it.each([
    ['no payloads', '{}'],
    ['payloads that are none', '{"payloads":[7]}'],
    ['too many payloads', JSON.stringify({ payloads: Array.from({ length: 5_001 }, () => ({})) })],
  ])('refuses %s', async (_what, payload) => {
    const headers = { 'content-type': 'application/json', ...bearer(ops) };
    const answer = await app.inject({ method: 'POST', url: '/codec/decode', headers, payload });
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'bad_payloads']);
  });

  it('refuses a body that is too large before it is read, and is not there unless it is configured', async () => {
    const payload = `{"payloads":["${'A'.repeat(17 * 1024 * 1024)}"]}`;
    const headers = { 'content-type': 'application/json', ...bearer(ops) };
    const call = { method: 'POST', url: '/codec/decode', headers, payload } as const;
    expect((await app.inject(call)).statusCode).toBe(413);
    const without = await closedGateway();
    expect((await without.app.inject({ ...call, payload: {} })).statusCode).toBe(404);
    await without.app.close();
  });

  it.each([
    [{}, 'lets the gateway decrypt, and there are no keys for it: '],
    [{ VIDEOGEN_ENCRYPTION_KEYS: makeEncryptionKey('a') }, 'names keys of a gateway that has none: '],
    [{ VIDEOGEN_GATEWAY_CODEC_KEYS: 'vgk_ABC' }, 'has something in it that is not the name of a key: '],
  ])('settings with which nobody could decode are refused', async (env, problem) => {
    const settings = { VIDEOGEN_GATEWAY_CODEC_KEYS: 'ops', TEMPORAL_ADDRESS: '127.0.0.1:1', ...env };
    const starting = createVideoGateway({ env: settings, port: 0 });
    await expect(starting).rejects.toThrow(`VIDEOGEN_GATEWAY_CODEC_KEYS ${problem}`);
  });
});

describe('a webhook of the service', () => {
  const SECRET = 'a'.repeat(40);
  const BODY = JSON.stringify({ task_id: 'task-1' });
  const PATH = `/v1/hooks/${SECRET}`;
  const apps: FastifyInstance[] = [];
  const queries: string[] = [];
  const list = ({ query }: { query: string }) => {
    queries.push(/IN \('([^']*)'/.exec(query)?.[1] ?? query);
    return [];
  };
  /** Posts to a gateway with this secret. */
  async function open(secret: string | undefined, tools: object = {}) {
    const hookSecret = secret === undefined ? undefined : () => secret;
    const { app } = await closedGateway({ hookSecret, ...tools });
    apps.push(app);
    return async (url: string, payload = BODY, more: Record<string, string> = {}) => {
      const headers = { host: 'localhost', 'content-type': 'application/json', ...more };
      return (await app.inject({ method: 'POST', url, payload, headers })).statusCode;
    };
  }
  let post: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    post = await open(SECRET, { client: temporalWith({ list }) });
  });
  beforeEach(() => queries.splice(0));
  afterAll(() => Promise.all(apps.map((app) => app.close())));

  it('is accepted with the secret in the path, also while Temporal does not answer', async () => {
    // The longest that can be set, with every character escaped.
    const secret = '/'.repeat(200);
    expect(await (await open(secret))(`/v1/hooks/${encodeURIComponent(secret)}`)).toBe(200);
  });

  it('may name its task in several ways, a flood about one is one search, and nothing changes a search', async () => {
    // A hint a second about one task.
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    for (const body of [
      ...Array.from({ length: 20 }, () => ({ task_id: 'task-1' })),
      { id: 'task-2', status: 'done' },
      { id: 'event-1', data: { id: 'task-3' } },
      { data: { task_id: 'task-4' } },
      { task_id: "' OR 1=1" },
    ])
      expect(await post(PATH, JSON.stringify(body))).toBe(200);
    clock.mockRestore();
    expect(queries).toEqual(['task-1', 'task-2', 'task-3', 'task-4']);
  });

  it('with a wrong secret or none, or to a gateway without one, meets an address that does not exist', async () => {
    const without = await open(undefined);
    expect([
      await post(`/v1/hooks/${'b'.repeat(40)}`),
      await post('/v1/hooks/'),
      await post('/v1/hooks'),
      await without('/v1/hooks/'),
      await without(PATH),
    ]).toEqual([404, 404, 404, 404, 404]);
    expect(queries).toEqual([]);
  });

  it('that is signed needs no secret in the path, and a wrong signature is 404', async () => {
    const signed = await open(WEBHOOK_SECRET);
    const headers = signWebhook('evt-1', BODY, { secret: WEBHOOK_SECRET });
    expect(await signed('/v1/hooks', BODY, headers)).toBe(200);
    expect(await signed('/v1/hooks', `${BODY} `, headers)).toBe(404);
    expect(await signed('/v1/hooks', BODY)).toBe(404);
  });

  it('is refused if its body names no task, or is huge', async () => {
    for (const body of ['', '{', '[]', 'null', '{"task_id":5}', '{"id":" "}'])
      expect([body, await post(PATH, body)]).toEqual([body, 400]);
    expect(await post(PATH, JSON.stringify({ task_id: 'x'.repeat(70_000) }))).toBe(413);
  });
});
