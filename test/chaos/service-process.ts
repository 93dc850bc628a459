import { hash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import type { Emulator, Faults } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { seededRandom } from '../../src/testing/seeded-random';
import { type LedgerPost, postsFile, SERVICES, type ServiceName, tasksFile, videosFile } from './ledger';

/** The video services of a run, in a process of their own. Their tasks and their ledger are in files, and survive a kill. */
export interface ServiceSettings {
  folder: string;
  ports: Record<ServiceName, number>;
  apiKey: string;
  jobTimeMs: number;
  videoBytes: number;
  seed: string;
  /** How often the process was started before. */
  starts: number;
}

/** Of status calls and downloads, by chance. Submits have a script. */
const CHAOS_RATE = 0.06;
const SCRIPTED_SUBMITS = 2_000;

/** The answer is often late, so that kills and cuts come between a request and its answer. */
function submitFault(random: () => number): Faults['submit'] {
  const dice = random();
  if (dice < 0.03) return { kind: 'rate-limited', retryAfter: 1 };
  if (dice < 0.06) return { kind: 'server-error', status: random() < 0.5 ? 500 : 503 };
  if (dice < 0.08) return { kind: 'reset-late', ms: Math.floor(1_000 * random()) };
  if (dice < 0.09) return { kind: 'cut-body' };
  if (dice < 0.1) return { kind: 'bad-json' };
  if (dice < 0.11) return { kind: 'refused', status: 400, code: 'invalid', message: 'not this one' };
  if (dice < 0.12) return { kind: 'failed-task', code: 'generation_failed', message: 'no video' };
  return { kind: 'late', ms: Math.floor(1_200 * random() ** 2) };
}

async function serve(settings: ServiceSettings): Promise<void> {
  const { folder, ports, starts, seed, ...options } = settings;
  const emulators = new Map<ServiceName, Emulator>();
  const write = (service: ServiceName, post: Omit<LedgerPost, 'service'>) =>
    appendFileSync(postsFile(folder), `${JSON.stringify({ service, ...post })}\n`);
  for (const service of SERVICES) {
    const emulator = await startEmulator({
      ...options,
      port: ports[service],
      tasksFile: tasksFile(folder, service),
      chaos: { rate: CHAOS_RATE, seed: `${seed} ${service} ${starts}` },
      onCall: ({ call, atMs, body, idempotencyKey: key, authorized, status }) => {
        if (call === 'submit')
          write(service, { atMs, prompt: String(Object(body).prompt), key, authorized, status });
      },
    });
    const random = seededRandom(`submits ${seed} ${service} ${starts}`);
    emulator.next('submit', ...Array.from({ length: SCRIPTED_SUBMITS }, () => submitFault(random)));
    emulators.set(service, emulator);
  }
  /** Once the run is over: what each video must be. */
  const writeVideos = async () => {
    for (const emulator of emulators.values())
      for (const { taskId } of emulator.generations()) {
        const sha256 = hash('sha256', await emulator.video(taskId));
        appendFileSync(videosFile(folder), `${JSON.stringify({ taskId, sha256 })}\n`);
      }
  };
  process.on('message', async (message) => {
    if (message !== 'write videos') return;
    await writeVideos();
    process.send?.('written');
  });
  process.send?.('ready');
}

void serve(JSON.parse(process.env.CHAOS_SERVICE ?? '{}'));
