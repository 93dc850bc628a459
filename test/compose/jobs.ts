import { createHash } from 'node:crypto';
import { evaluate, eventually } from './stack';

const JOB_WITHIN_MS = 5 * 60_000;

/** A video as the gateway answers it, as far as it is read here. */
interface Video {
  id: string;
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  service_task_id: string | null;
  video: { sha256: string } | null;
  error: object | null;
}

/** Makes videos through the gateway of the stack, whatever is killed meanwhile. */
export class Jobs {
  readonly prompts: string[] = [];

  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  /** Starts a job. A call that gets no answer is repeated, which is safe with its key. */
  async start(prompt: string): Promise<string> {
    this.prompts.push(prompt);
    const { id } = await eventually(`"${prompt}" is accepted`, async () => {
      const answer = await this.call('/v1/videos/text-to-video', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': prompt },
        body: JSON.stringify({ prompt, duration: 2 }),
      });
      return answer?.ok ? videoIn(answer) : undefined;
    });
    return id;
  }

  /** Waits until the service has the task, so that it is paid for. */
  async untilSubmitted(id: string): Promise<string> {
    return eventually(`${id} is submitted`, async () => (await this.read(id))?.service_task_id ?? undefined);
  }

  /** Waits for the video, fetches it and compares it with what the job says of it. */
  async untilStored(id: string): Promise<Video> {
    const ended = await eventually(
      `${id} has ended`,
      async () => {
        const video = await this.read(id);
        return video?.status === 'completed' || video?.status === 'failed' ? video : undefined;
      },
      JOB_WITHIN_MS,
    );
    if (ended.video === null) throw new Error(`${id} failed: ${JSON.stringify(ended.error)}`);
    const bytes = await eventually(`${id} is served`, async () => {
      const answer = await this.call(`/v1/videos/${id}/content`);
      return answer?.ok ? new Uint8Array(await answer.arrayBuffer()) : undefined;
    });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (sha256 !== ended.video.sha256)
      throw new Error(`${id}: the gateway serves another file than was stored.`);
    return ended;
  }

  /** How many videos the gateway lists, from Temporal's database. */
  async countListed(): Promise<number> {
    const answer = await this.call('/v1/videos?limit=100');
    return Object(await answer?.json()).data.length;
  }

  private async read(id: string): Promise<Video | undefined> {
    const answer = await this.call(`/v1/videos/${id}`);
    return answer?.ok ? videoIn(answer) : undefined;
  }

  /** Undefined if there was no answer: what serves it may just have been killed. */
  private async call(path: string, init: RequestInit = {}): Promise<Response | undefined> {
    const headers = { authorization: `Bearer ${this.key}`, ...init.headers };
    try {
      return await fetch(`${this.url}${path}`, { ...init, headers, signal: AbortSignal.timeout(10_000) });
    } catch {
      return undefined;
    }
  }
}

const videoIn = async (answer: Response): Promise<Video> => JSON.parse(await answer.text());

/** How many tasks the emulator has for a prompt: each is one that a user would have paid for. */
export async function countTasks(prompt: string): Promise<number> {
  const lines = await evaluate('emulator', `console.log(fs.readFileSync('/tasks/tasks', 'utf8'))`);
  const tasks: { taskId: string; request: { prompt: string } }[] = lines
    .split('\n')
    .map((line) => JSON.parse(line));
  return new Set(tasks.filter((task) => task.request.prompt === prompt).map(({ taskId }) => taskId)).size;
}
