import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { WORKFLOW_TYPE } from '../../src/contract/names';
import { type KeyLimits, makeKey, openKeyFile, parseKeys } from '../../src/gateway/gateway-keys';
import { refusal } from '../../src/gateway/http-errors';
import { callerOfWorkflow, taskIdFor, workflowIdOf } from '../../src/gateway/task-names';
import { makeWatchToken } from '../../src/gateway/watch-tokens';
import { closedGateway, keysNamed, temporalWith } from './closed-gateway';

const TEXT = '/v1/videos/text-to-video';

describe('a file of keys', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-keys-'));
    file = join(folder, 'keys.txt');
  });
  afterEach(() => {
    jest.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });

  const open = () => {
    const problems: string[] = [];
    const ring = openKeyFile(file, ({ message }) => problems.push(message));
    return { ring, problems };
  };

  it('has a key by its name and its digest, or two while one replaces the other', () => {
    const [old, next] = [makeKey('web_shop'), makeKey('web_shop')];
    writeFileSync(file, `# the shop\n\n${old.line}\n${next.line}\n`);
    expect(old.line).not.toContain(old.key.slice(4));
    const { ring } = open();
    const found = [old.key, next.key, `${old.key}x`, ''].map((key) => ring.find(key)?.name);
    expect(found).toEqual(['web_shop', 'web_shop', undefined, undefined]);
  });

  it('that gets a mistake, or cannot be followed, leaves the keys as they are, and is reported once', () => {
    const { key, line } = makeKey('shop');
    writeFileSync(file, `${line}\n`);
    const { ring, problems } = open();
    const findTwice = () => [ring.find(key)?.name, ring.find(key)?.name];
    writeFileSync(file, `${line}\nshop tooshort\n`);
    expect(findTwice()).toEqual(['shop', 'shop']);
    expect(problems).toEqual([
      `After the name, line 2 of ${file} must have 64 hex digits: videogen gateway-key shop prints one.`,
    ]);
    rmSync(file);
    symlinkSync(file, file);
    expect(findTwice()).toEqual(['shop', 'shop']);
    expect(problems.slice(1)).toEqual([expect.stringContaining('ELOOP')]);
  });

  it('may have limits of a key, and a mistake in them is reported without its words', () => {
    const limitsOf = (text: string) => parseKeys(`shop ${'0'.repeat(64)} ${text}`, 'keys')[0]?.limits;
    expect(limitsOf('')).toEqual({});
    expect(limitsOf('requests-per-second=0.5 jobs-at-a-time=10 jobs-a-day=500')).toEqual({
      requestsPerSecond: 0.5,
      jobsAtATime: 10,
      jobsADay: 500,
    });
    for (const wrong of ['jobs-a-day=0', 'jobs-at-a-time=1.5', 'jobs-a-day', 'jobs=1', 'vgk_secret'])
      expect(() => limitsOf(wrong)).toThrow(
        /^After the digest, line 1 of keys may have limits only, such as /,
      );
  });
});

test('the caller of a job is in its name, also of a retry, and other jobs have none', () => {
  const workflowId = workflowIdOf('web_shop', taskIdFor('web_shop', 'key'));
  const names = [workflowId, `${workflowId}-retry-1`, 'gateway-x', 'fox', `my-${workflowId}`];
  expect(names.map(callerOfWorkflow)).toEqual(['web_shop', 'web_shop', undefined, undefined, undefined]);
});

const VIDEO = 'video_00000000000000000000000000000000';

test('a token is good for 15 minutes, for the video and the name it was made for, and only as it was signed', async () => {
  const clock = jest.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000);
  const describe = async () => {
    throw new WorkflowNotFoundError('none', 'none', undefined);
  };
  const client = temporalWith({ getHandle: () => ({ describe }) });
  const { app } = await closedGateway({ client, keys: keysNamed() });
  const { token, expires_at } = makeWatchToken({ name: 'shop', sha256: '', limits: {} }, VIDEO);
  const statusOf = async (given: string, video = VIDEO) =>
    (await app.inject(`/v1/videos/${video}?token=${given}`)).statusCode;
  expect(expires_at).toBe(1_800_000_900);
  expect(await statusOf(token)).toBe(404);
  expect(await statusOf(token, VIDEO.replace(/0$/, '1'))).toBe(401);
  for (const [what, instead] of [
    ['shop', 'press'],
    [String(expires_at), String(expires_at + 60)],
    ['vgw_', 'vgk_'],
    [/.$/, ''],
  ] as const)
    expect(await statusOf(token.replace(what, instead))).toBe(401);
  clock.mockReturnValue(expires_at * 1_000);
  expect(await statusOf(token)).toBe(401);
  clock.mockRestore();
  await app.close();
});

const SECOND_MS = 1_000;
const DAY_MS = 24 * 3_600_000;

describe('the limits of a key', () => {
  const LIMITS: Record<string, KeyLimits> = {
    often: { requestsPerSecond: 2 },
    watched: { requestsPerSecond: 2 },
    burst: { requestsPerSecond: 2 },
    seldom: { requestsPerSecond: 0.1 },
    racing: { jobsAtATime: 2 },
    failing: { jobsAtATime: 1 },
    daily: { jobsADay: 2 },
  };
  /** Jobs as Temporal lists them; `lagMs` is how late. */
  let jobs: { id: string; atMs: number; isRunning: boolean }[];
  const NOON_MS = Date.parse('2026-01-01T12:00:00Z');
  let nowMs = NOON_MS;
  let lagMs: number;
  let isRefusing: boolean;

  const client = temporalWith({
    count: async (query = '') => {
      const [, ids] = /WorkflowId IN \((.*)\)/.exec(query) ?? [];
      const [, prefix = ''] = /STARTS_WITH '([^']*)'/.exec(query) ?? [];
      const [, since = ''] = /StartTime > '(.*)'/.exec(query) ?? [];
      const counted = jobs
        .filter(({ atMs }) => atMs <= nowMs - lagMs)
        .filter(({ id }) => (ids === undefined ? id.startsWith(prefix) : ids.includes(`'${id}'`)))
        .filter(({ isRunning }) => isRunning || !query.includes('CloseTime IS NULL'))
        .filter(({ atMs }) => since === '' || atMs > Date.parse(since));
      return { count: counted.length };
    },
    getHandle: () => ({ describe: async () => ({ type: WORKFLOW_TYPE, startTime: new Date(nowMs) }) }),
  });
  const videos = {
    start: async (_input: object, { workflowId: id }: { workflowId: string }) => {
      if (isRefusing) throw refusal('invalid_request');
      jobs.push({ id, atMs: nowMs, isRunning: true });
    },
  };

  let app: FastifyInstance;
  let clock: jest.SpyInstance;
  beforeAll(async () => {
    clock = jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
    ({ app } = await closedGateway({ client, videos: videos as never, keys: keysNamed(LIMITS) }));
  });
  beforeEach(() => {
    [jobs, lagMs, isRefusing] = [[], 0, false];
    nowMs = NOON_MS;
  });
  afterAll(async () => {
    clock.mockRestore();
    await app.close();
  });

  async function ask(key: string, call: InjectOptions) {
    const answer = await app.inject({ ...call, headers: { authorization: `Bearer ${key}` } });
    const message: string | undefined = answer.json().error?.message;
    return { status: answer.statusCode, retryAfter: answer.headers['retry-after'], message };
  }
  const request = (key: string) => ask(key, { url: '/v1/videos/none' });
  const start = (key: string) => ask(key, { method: 'POST', url: TEXT, payload: { prompt: 'A fox' } });
  const REFUSED = { status: 429 };
  /** There is no such video. */
  const LET_IN = { status: 404 };
  const STARTED = { status: 200 };

  it('in requests a second come in bursts of a second, refill evenly, and say when to come back', async () => {
    const three = async () => [await request('often'), await request('often'), await request('often')];
    expect(await three()).toMatchObject([LET_IN, LET_IN, { ...REFUSED, retryAfter: '1' }]);
    nowMs += SECOND_MS / 2;
    expect(await three()).toMatchObject([LET_IN, REFUSED, REFUSED]);
    nowMs += 60 * SECOND_MS;
    expect(await three()).toMatchObject([LET_IN, LET_IN, REFUSED]);
    expect(await request('other')).toMatchObject(LET_IN);
  });

  it('are counted apart for pages that have a token, which cannot keep the key out', async () => {
    const { token } = makeWatchToken({ name: 'watched', sha256: '', limits: {} }, VIDEO);
    const watched = [];
    for (let call = 0; call < 3; call++)
      watched.push((await app.inject(`/v1/videos/${VIDEO}?token=${token}`)).statusCode);
    expect(watched).toEqual([200, 200, 429]);
    expect(await request('watched')).toMatchObject(LET_IN);
  });

  it('in requests a second may be less than one, and a clock that is set back takes nothing', async () => {
    await request('seldom');
    expect(await request('seldom')).toMatchObject({ ...REFUSED, retryAfter: '10' });
    nowMs += 10 * SECOND_MS;
    expect(await request('seldom')).toMatchObject(LET_IN);
    await request('burst');
    nowMs -= DAY_MS;
    expect(await request('burst')).toMatchObject(LET_IN);
  });

  it('in jobs at a time hold for POSTs at the same moment, and until one has ended, also if Temporal does not list them yet', async () => {
    lagMs = 5 * SECOND_MS;
    const answers = await Promise.all([1, 2, 3, 4].map(() => start('racing')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429]);
    nowMs += SECOND_MS;
    const message = 'This key may have at most 2 jobs at a time.';
    expect(await start('racing')).toEqual({ ...REFUSED, retryAfter: '10', message });
    expect(await start('other')).toMatchObject(STARTED);
    nowMs += lagMs;
    expect(await start('racing')).toMatchObject(REFUSED);
    for (const job of jobs.slice(0, 1)) job.isRunning = false;
    expect(await start('racing')).toMatchObject(STARTED);
  });

  it('in jobs at a time do not count a start that failed', async () => {
    lagMs = 5 * SECOND_MS;
    isRefusing = true;
    expect(await start('failing')).toMatchObject({ status: 400 });
    isRefusing = false;
    expect(await start('failing')).toMatchObject(STARTED);
  });

  it('in jobs a day are about the last 24 hours, and count jobs that have ended', async () => {
    for (let time = 1; time <= 2; time++) {
      expect(await start('daily')).toMatchObject(STARTED);
      for (const job of jobs) job.isRunning = false;
      nowMs += DAY_MS / 2 - SECOND_MS;
    }
    expect(await start('daily')).toMatchObject({ ...REFUSED, retryAfter: '3600' });
    nowMs += 2 * SECOND_MS;
    expect(await start('daily')).toMatchObject(STARTED);
  });
});

describe('the requests of a key', () => {
  let app: FastifyInstance;
  let port: number;
  let endSearch = () => {};
  const sockets: Socket[] = [];
  beforeAll(async () => {
    const search = new Promise((_resolve, reject) => {
      endSearch = () => reject(new WorkflowNotFoundError('', '', undefined));
    });
    const client = temporalWith({ getHandle: () => ({ describe: () => search }) });
    ({ app } = await closedGateway({ client, keys: keysNamed({ slow: { requestsPerSecond: 0.001 } }) }));
    await app.listen({ host: '127.0.0.1', port: 0 });
    ({ port } = app.server.address() as AddressInfo);
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await app.close();
  });

  const head = (key: string, body: string) =>
    [
      `POST ${TEXT} HTTP/1.1`,
      'host: a',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      body,
    ].join('\r\n');
  const unfinished = (key: string, bytes: number) =>
    `${head(key, `content-length: ${bytes}`)}\r\n\r\n{"prompt":"`;
  const inPieces = (key: string, json: string) =>
    `${head(key, 'transfer-encoding: chunked')}\r\n\r\n${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`;

  function send(text: string): { socket: Socket; read(): string } {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', () => undefined).write(text);
    return { socket, read: () => answer };
  }

  async function statusOf(text: string): Promise<number> {
    const { read } = send(text);
    while (!read().includes('\r\n\r\n')) await sleep(20);
    return Number(read().slice(9, 12));
  }

  it('get their 429 before their bodies are read', async () => {
    expect(await statusOf(inPieces('slow', '{}'))).toBe(400);
    expect(await statusOf(unfinished('slow', 1_000))).toBe(429);
  });

  it('without a length are counted too, and their share is free again after the answer', async () => {
    const withImage = (bytes: number) =>
      inPieces('one', JSON.stringify({ image_url: `data:image/png;base64,${'A'.repeat(bytes)}` }));
    const { socket } = send(withImage(30_000_000).slice(0, -100));
    // The gateway counts the bytes when it has read them.
    while ((await statusOf(withImage(4_000_000))) !== 429) await sleep(50);
    socket.destroy();
    while ((await statusOf(withImage(4_000_000))) !== 400) await sleep(50);
  });

  it('cannot fill the memory with unfinished bodies, and those of all keys together cannot either', async () => {
    const bytes = 27_000_000;
    for (const key of ['one', 'two']) send(unfinished(key, bytes));
    // A small one is read, and has no prompt. When it is answered, the others have begun.
    expect(await statusOf(inPieces('one', '{}'))).toBe(400);
    expect(await statusOf(unfinished('one', bytes))).toBe(429);
    expect(await statusOf(unfinished('three', bytes))).toBe(429);
    expect(await statusOf(unfinished('one', 60_000_000))).toBe(413);
  });

  it('leave connections to the others, however many wait for an answer', async () => {
    const ask = async (name: string) => {
      const headers = { authorization: `Bearer ${name}` };
      return (await app.inject({ url: `/v1/videos/video_${'0'.repeat(32)}`, headers })).statusCode;
    };
    const waiting = Array.from({ length: 500 }, () => ask('greedy'));
    expect(await ask('greedy')).toBe(429);
    const other = ask('other');
    endSearch();
    expect(new Set(await Promise.all([...waiting, other]))).toEqual(new Set([404]));
  });
});
