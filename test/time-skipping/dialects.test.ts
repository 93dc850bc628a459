import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DIALECT_NAMES, type DialectName } from '../../src/emulator';
import { builtInProfile, createVideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { captureLogs, type LogLine } from '../support/logs';
import { failureOf, inWorld } from '../support/world';

const MINUTE = 60_000;
/** Only the first job of a service needs to be polled while it is queued and running. */
const RARE_POLLS = { polling: { min: '30s', max: '30s' } };
const request = { prompt: 'A red fox' };
const IMAGE = { ...request, image_url: 'https://example.com/fox.png' };

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

const ambiguities = () => logs.filter(({ message }) => message === 'the answer is ambiguous');

test('the emulator has a dialect for each of the twenty surveyed services, and its own', () => {
  expect(DIALECT_NAMES).toHaveLength(21);
});

/** Services whose videos the default rules do not find. */
const NEEDS_PROFILE: DialectName[] = ['openai', 'minimax', 'pixverse'];

test.each([...DIALECT_NAMES])(
  'with a service that answers like %s, a job stores the video of its one task, or fails with the service’s message',
  async (dialect) => {
    const options = { jobTimeMs: MINUTE, dialect, profile: builtInProfile(dialect) };
    await inWorld(env, options, async ({ emulator, videos }) => {
      // The first job also meets a full service, a refused key and a limit on polls.
      emulator.next('submit', { kind: 'rate-limited', retryAfter: 5 });
      emulator.next(
        'status',
        { kind: 'refused', status: 401, message: 'no such key' },
        { kind: 'rate-limited' },
      );
      for (const input of [{ request }, { request: IMAGE, ...RARE_POLLS }]) {
        const result = await videos.execute(input);
        const file = await readFile(fileURLToPath(result.video.uri));
        expect(file.equals(await emulator.video(result.taskId))).toBe(true);
        expect(result.polls).toBeGreaterThan(1);
      }
      expect(emulator.generations().map(({ request: made }) => made)).toEqual([request, IMAGE]);
      // Neither a cover nor a watermarked copy was downloaded as the video.
      const unscripted = emulator.calls.filter(({ call }) => call !== 'submit' && call !== 'status');
      expect(unscripted.filter(({ status }) => status !== undefined && status >= 400)).toEqual([]);
      expect(emulator.scriptIsSpent()).toBe(true);

      emulator.next('submit', { kind: 'failed-task', code: '4711', message: 'The prompt was moderated' });
      const failed = await failureOf(videos.execute({ request, deadline: '10m', ...RARE_POLLS }));
      const task = emulator.generations()[2];
      expectRow(failed, 'GenerationFailed', task && emulator.idOf(task));

      emulator.next('submit', { kind: 'refused', status: 400, message: 'no foxes' });
      const refused = await failureOf(videos.execute({ request }));
      expectRow(refused, 'InvalidRequest', undefined);
      expect(String(refused)).toContain('no foxes');
    });
    expect(ambiguities()).toEqual([]);
  },
);

test.each(['minimax', 'kie', 'pixverse'] as const)(
  'a wrong key at %s, which refuses with HTTP 200, is a refusal, not a lost submit',
  async (dialect) => {
    await inWorld(env, { dialect }, async ({ emulator }) => {
      const service = createVideoService({
        baseUrl: emulator.url,
        apiKey: () => 'sk-wrong',
        profile: builtInProfile(dialect),
      });
      await expect(service.submit(request, { idempotencyKey: 'k' })).rejects.toMatchObject({
        kind: 'answered',
        facts: { status: 401 },
      });
      await service.close();
    });
  },
);

test.each(NEEDS_PROFILE)(
  'without its profile, the answers of %s are not understood, and no second task is paid for',
  async (dialect) => {
    await inWorld(env, { jobTimeMs: MINUTE, dialect }, async ({ emulator, videos }) => {
      const failure = await failureOf(videos.execute({ request, deadline: '10m', onLostSubmit: 'fail' }));
      const [task] = emulator.generations();
      if (dialect === 'pixverse') expectRow(failure, 'SubmitUnconfirmed', undefined);
      else expectRow(failure, 'NoVideo', task && emulator.idOf(task));
      expect(emulator.generations()).toHaveLength(1);
    });
  },
);
