import { once } from 'node:events';
import { connect } from 'node:net';
import { Agent, request } from 'undici';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import type { AnswerFault, EmulatedCall } from '../../src/testing/faults';

const SIZE = 10_000;
let emulator: Emulator;
let agent: Agent;
beforeEach(async () => {
  emulator = await startEmulator({ jobTimeMs: 0, videoBytes: SIZE });
  agent = new Agent();
});
afterEach(async () => {
  await agent.destroy();
  await emulator.close();
});

interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
}

const send = ({ method, path, body }: Call) => {
  const headers = { authorization: `Bearer ${emulator.apiKey}` };
  return request(emulator.url + path, { method, headers, body, dispatcher: agent });
};

const SUBMIT: Call = { method: 'POST', path: '/v1/videos/text-to-video', body: '{"prompt":"A red fox"}' };
const makeTask = async (): Promise<string> =>
  Reflect.get(Object(await (await send(SUBMIT)).body.json()), 'task_id');
const pollCall = async (): Promise<Call> => ({ method: 'GET', path: `/v1/videos/${await makeTask()}` });
const lastTask = () => emulator.generations().at(-1)?.taskId ?? '';
const linkOf = (taskId: string) => `/files/${taskId}.mp4?signature=${emulator.linkSignature}`;

/** Each call, and its complete body. */
const CALLS: [call: EmulatedCall, prepare: () => Promise<Call>, completeBody: () => Promise<string>][] = [
  ['submit', async () => SUBMIT, async () => JSON.stringify({ task_id: lastTask(), status: 'queued' })],
  [
    'status',
    pollCall,
    async () => {
      const task_id = lastTask();
      const video_url = emulator.url + linkOf(task_id);
      return JSON.stringify({ task_id, status: 'succeeded', video_url });
    },
  ],
  [
    'download',
    async () => ({ method: 'GET', path: linkOf(await makeTask()) }),
    async () => (await emulator.video(lastTask())).toString('latin1'),
  ],
];

/** All bytes of the answer until the server closes the connection. */
async function answerBytes({ method, path, body = '' }: Call): Promise<string> {
  const { host, hostname, port } = new URL(emulator.url);
  const socket = connect(Number(port), hostname);
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: ${host}`,
    `authorization: Bearer ${emulator.apiKey}`,
    `content-length: ${body.length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

describe.each(CALLS)('the answer to a %s', (call, prepare, completeBody) => {
  it('with cut-headers ends in the middle of a header, after the status line of a 200', async () => {
    const prepared = await prepare();
    emulator.next(call, { kind: 'cut-headers' });
    expect(await answerBytes(prepared)).toBe('HTTP/1.1 200 OK\r\ncontent-ty');
    expect((await send(prepared)).statusCode).toBe(200);
  });

  it('with cut-body announces the complete body and sends half of it', async () => {
    const prepared = await prepare();
    emulator.next(call, { kind: 'cut-body' });
    const bytes = await answerBytes(prepared);
    const body = await completeBody();
    expect(bytes).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(bytes).toMatch(new RegExp(`\r\ncontent-length: ${body.length}\r\n`, 'i'));
    const start = bytes.indexOf('\r\n\r\n') + 4;
    expect(bytes.slice(start)).toBe(body.slice(0, Math.floor(body.length / 2)));
    expect((await send(prepared)).statusCode).toBe(200);
  });

  it('with cut-headers is a socket error for a client', async () => {
    const prepared = await prepare();
    emulator.next(call, { kind: 'cut-headers' });
    await expect(send(prepared)).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  it('with cut-body is a socket error while a client reads the body', async () => {
    const prepared = await prepare();
    emulator.next(call, { kind: 'cut-body' });
    const { statusCode, body } = await send(prepared);
    expect(statusCode).toBe(200);
    await expect(body.arrayBuffer()).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  it.each<[what: string, fault: AnswerFault]>([
    ['a reset', { kind: 'reset' }],
    ['cut-headers', { kind: 'cut-headers' }],
    ['cut-body', { kind: 'cut-body' }],
  ])('is lost only while there is %s: the next one is complete', async (_what, fault) => {
    const prepared = await prepare();
    emulator.next(call, fault, fault);
    for (let i = 0; i < 2; i++) {
      await expect(send(prepared).then(({ body }) => body.arrayBuffer())).rejects.toThrow();
    }
    const { statusCode, headers, body } = await send(prepared);
    expect(statusCode).toBe(200);
    expect((await body.arrayBuffer()).byteLength).toBe(Number(headers['content-length']));
  });
});
