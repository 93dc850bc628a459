import { once } from 'node:events';
import { connect } from 'node:net';
import { Agent, request } from 'undici';
import { type AnswerFault, type EmulatedCall, type Emulator, startEmulator } from '../../src/emulator';

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

const ask = ({ method, path, body }: Call) => {
  const headers = { authorization: `Bearer ${emulator.apiKey}` };
  return request(emulator.url + path, { method, headers, body, dispatcher: agent });
};

const SUBMIT: Call = { method: 'POST', path: '/v1/videos/text-to-video', body: '{"prompt":"A red fox"}' };
const makeTask = async (): Promise<string> =>
  Reflect.get(Object(await (await ask(SUBMIT)).body.json()), 'task_id');
const look = async (): Promise<Call> => ({ method: 'GET', path: `/v1/videos/${await makeTask()}` });
const lastTask = () => emulator.generations().at(-1)?.taskId ?? '';
const linkOf = (taskId: string) => `/files/${taskId}.mp4?signature=${emulator.linkSignature}`;

/** Each call, and the body that is right for it. */
const CALLS: [call: EmulatedCall, prepare: () => Promise<Call>, whole: () => Promise<string>][] = [
  ['submit', async () => SUBMIT, async () => JSON.stringify({ task_id: lastTask(), status: 'queued' })],
  [
    'status',
    look,
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

/** Everything that comes back, byte for byte, until the other side closes. */
async function bytesOf({ method, path, body = '' }: Call): Promise<string> {
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

describe.each(CALLS)('the answer to a %s', (call, prepare, whole) => {
  it('cut within its headers ends in the middle of one, under a status line of 200', async () => {
    const asked = await prepare();
    emulator.next(call, { kind: 'cut-headers' });
    expect(await bytesOf(asked)).toBe('HTTP/1.1 200 OK\r\ncontent-ty');
    expect((await ask(asked)).statusCode).toBe(200);
  });

  it('cut within its body announces the whole and brings half of what is right', async () => {
    const asked = await prepare();
    emulator.next(call, { kind: 'cut-body' });
    const bytes = await bytesOf(asked);
    const right = await whole();
    expect(bytes).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(bytes).toMatch(new RegExp(`\r\ncontent-length: ${right.length}\r\n`, 'i'));
    const start = bytes.indexOf('\r\n\r\n') + 4;
    expect(bytes.slice(start)).toBe(right.slice(0, Math.floor(right.length / 2)));
    expect((await ask(asked)).statusCode).toBe(200);
  });

  it('is no answer to a client when it is cut within its headers', async () => {
    const asked = await prepare();
    emulator.next(call, { kind: 'cut-headers' });
    await expect(ask(asked)).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  it('is one that a client cannot read to its end when it is cut within its body', async () => {
    const asked = await prepare();
    emulator.next(call, { kind: 'cut-body' });
    const { statusCode, body } = await ask(asked);
    expect(statusCode).toBe(200);
    await expect(body.arrayBuffer()).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  });

  it.each<[what: string, fault: AnswerFault]>([
    ['a reset', { kind: 'reset' }],
    ['a cut within the headers', { kind: 'cut-headers' }],
    ['a cut within the body', { kind: 'cut-body' }],
  ])('is lost to %s alone: the next one is whole', async (_what, fault) => {
    const asked = await prepare();
    emulator.next(call, fault, fault);
    for (let i = 0; i < 2; i++) {
      await expect(ask(asked).then(({ body }) => body.arrayBuffer())).rejects.toThrow();
    }
    const { statusCode, headers, body } = await ask(asked);
    expect(statusCode).toBe(200);
    expect((await body.arrayBuffer()).byteLength).toBe(Number(headers['content-length']));
  });
});
