import { hash, randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { z } from 'zod';
import { fileName } from '../contract/digest';
import { isTaskId } from '../contract/input-rules';
import { readCost } from '../contract/job-cost';
import { isServiceName } from '../contract/service-choice';
import { EntryLog } from './entry-log';
import { writeSmallJson } from './small-files';
import type { RemovingStorage, VideoStorage } from './storage';

// Its size is bounded with that of the file: see entry-log.ts.
const text = z.string();
const texts = z.array(text);
const taskId = z.string().refine(isTaskId);
const service = z.string().refine(isServiceName).optional();
const cost = z.unknown().transform(readCost).optional();

/**
 * How a send ended that made no task: no byte left, the service refused it, or its answer (such as a 500) leaves open whether
 * a task exists nevertheless.
 */
export const NO_TASK = ['not-sent', 'refused', 'unclear'] as const;

/** One of NO_TASK. */
export type NoTask = (typeof NO_TASK)[number];

const entry = z.object({ id: text, at: z.iso.datetime(), namespace: text, job: text });

const entrySchema = z.discriminatedUnion('event', [
  // A request is being sent: the id is that of the send. `repeats` are lost submits that somebody decided to repeat with it.
  entry.extend({
    event: z.literal('sending'),
    service,
    request: z.record(z.string(), z.unknown()),
    cost,
    repeats: texts.optional(),
  }),
  // That send made no task, as far as its answer tells.
  entry.extend({ event: z.literal('refused'), send: text, outcome: z.enum(NO_TASK) }),
  // Of a task that somebody adopted, the send is not known.
  entry.extend({
    event: z.literal('task'),
    send: text.optional(),
    taskId,
    service,
    cost,
    warnings: texts.optional(),
  }),
  entry.extend({
    event: z.literal('stored'),
    taskId,
    key: text,
    video: z.looseObject({ uri: text, bytes: z.number(), sha256: text, contentType: text }),
    warnings: texts,
    cost,
  }),
  // Nothing is paid again under this name and request.
  entry.extend({ event: z.literal('forgotten') }),
]);

/** One event in the life of a job. */
export type JobEntry = z.infer<typeof entrySchema>;
type EntryOf<Event extends JobEntry['event']> = Extract<JobEntry, { event: Event }>;
export type SendingEntry = EntryOf<'sending'>;
export type StoredEntry = EntryOf<'stored'>;
type NewEntry<Entry> = Entry extends JobEntry
  ? Omit<Entry, keyof typeof entry.shape> & { id?: string }
  : never;

/** A job in a storage that several namespaces may share. */
export interface JobName {
  namespace: string;
  job: string;
}

/**
 * Identifies a job by its namespace, name and request: the same in every attempt and every run. It is the idempotency key of
 * the submit, unless the input names one.
 */
export function digestOfJob({ namespace, job }: JobName, request: object): string {
  const fields = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify([namespace, job, fields]));
}

export const RECORD_FOLDER = 'jobs/';
const ID_DIGITS = 16;

const FIRST_ENTRY = new RegExp(`^${RECORD_FOLDER}([^/]+)[.]([0-9a-f]{${ID_DIGITS}})/0001[.]json$`);

/** The record whose first entry has this key; undefined for any other key. `name` is the file name of the job. */
export function recordOfKey(key: string): { name: string; id: string } | undefined {
  const [, name, id] = FIRST_ENTRY.exec(key) ?? [];
  return name === undefined || id === undefined ? undefined : { name, id };
}

/**
 * The record of a job in the storage, outside Temporal: a log of what was sent and how it ended, whose entries are only ever
 * created. A job with the same name and request finds its task, its lost submit or its video here, even after Temporal deleted
 * the history or a reset started it again.
 */
export class JobRecord {
  /** The folder of its entries. */
  readonly key: string;
  private readonly log: EntryLog<JobEntry>;
  private known: JobEntry[] = [];
  /** Tells the records of a job apart: its name may have been used for several requests. */
  readonly id: string;

  constructor(
    storage: Pick<VideoStorage, 'read' | 'create'>,
    private readonly owner: JobName,
    idOrDigest: string,
  ) {
    this.id = idOrDigest.slice(0, ID_DIGITS);
    this.key = `${RECORD_FOLDER}${fileName(owner.job)}.${this.id}`;
    this.log = entriesIn(storage, this.key);
  }

  /** Entries never change, so those that were read or added before are not read again. */
  async read(): Promise<RecordedJob> {
    this.known = await this.log.read(this.known);
    return recordedJob(this.known);
  }

  /** Adds an entry only if nobody else has added one since the last read. */
  async addIfLast(added: NewEntry<JobEntry>): Promise<boolean> {
    const { appended, entries } = await this.log.append(this.complete(added), this.known);
    this.known = entries;
    return appended;
  }

  /** Adds an entry after whatever there is. */
  async add(added: NewEntry<JobEntry>): Promise<void> {
    const entry = this.complete(added);
    for (let isAdded = false; !isAdded; )
      ({ appended: isAdded, entries: this.known } = await this.log.append(entry, this.known));
  }

  /**
   * Leaves nothing of the job but that it was forgotten. The last entry says so before the others lose their content: for
   * readers meanwhile, and whatever is written late, it stays forgotten. Repeated after a kill, it finishes.
   */
  async forget(storage: Pick<VideoStorage, 'write'>): Promise<void> {
    const { forgotten } = await this.read();
    if (forgotten === undefined) await this.add({ event: 'forgotten' });
    for (const [index, { event, id, at, namespace, job }] of this.known.entries()) {
      if (event === 'forgotten') continue;
      const follows = this.known[index - 1]?.id;
      const blank = { event: 'forgotten', id, at, namespace, job, follows };
      await writeSmallJson(storage, this.log.keyOf(index + 1), blank);
    }
  }

  private complete(added: NewEntry<JobEntry>): JobEntry {
    return entrySchema.parse({ id: randomUUID(), at: new Date().toISOString(), ...this.owner, ...added });
  }
}

function entriesIn(storage: Pick<VideoStorage, 'read' | 'create'>, folder: string): EntryLog<JobEntry> {
  return new EntryLog(storage, `${folder}/`, (value) => entrySchema.safeParse(value).data);
}

/** The record whose first entry has this key, whichever job it is of. */
export async function readRecordAt(
  storage: Pick<VideoStorage, 'read' | 'create'>,
  firstKey: string,
): Promise<RecordedJob> {
  return recordedJob(await entriesIn(storage, posix.dirname(firstKey)).read());
}

/** The ids of the records whose job's file name begins so, by that name. */
export async function recordIds(
  storage: Pick<RemovingStorage, 'list'>,
  start: string,
): Promise<Map<string, string[]>> {
  const ids = new Map<string, string[]>();
  for await (const { key } of storage.list(`${RECORD_FOLDER}${start}`)) {
    const { name, id } = recordOfKey(key) ?? {};
    if (name !== undefined && id !== undefined) ids.set(name, [...(ids.get(name) ?? []), id]);
  }
  return ids;
}

/** What the entries of a record say together. */
export type RecordedJob = ReturnType<typeof recordedJob>;

export function recordedJob(entries: JobEntry[]) {
  const all = <Event extends JobEntry['event']>(event: Event) =>
    entries.filter((one): one is EntryOf<Event> => one.event === event);
  const sent = all('sending');
  const refused = all('refused');
  const tasks = all('task');
  const ended = new Set([...refused, ...tasks].map(({ send }) => send));
  const repeated = new Set(sent.flatMap(({ repeats }) => repeats ?? []));
  const openSends = sent.filter(({ id }) => !ended.has(id) && !repeated.has(id));
  const task = tasks.at(-1);
  const forgotten = all('forgotten').at(-1);
  const mayHaveTask = repeated.size > 0 || refused.some(({ outcome }) => outcome === 'unclear');
  const mayHaveReached = openSends.length > 0 || task !== undefined;
  return {
    entries,
    /** The task, if there is one: the last that was made or adopted. */
    task,
    /** Its video. */
    stored: all('stored').findLast(({ taskId }) => taskId === task?.taskId),
    forgotten,
    /** The last request that was sent. */
    lastSend: sent.at(-1),
    /** Sends without an end on record, which nobody has decided to repeat: each is a lost submit, or under way. */
    openSends,
    /** Sends that were not refused: each was paid for, or may have been. */
    paidSends: sent.filter(({ id }) => !refused.some(({ send }) => send === id)),
    /** The service may have received the idempotency key. */
    keySent: mayHaveReached || refused.some(({ outcome }) => outcome !== 'not-sent'),
    /** A task may exist although each send was refused: after an unclear answer, or a lost submit that somebody repeated. */
    mayHaveTask,
    /** Something was paid for, or may have been: nobody but the service of this record is asked then. */
    mayHavePaid: mayHaveReached || mayHaveTask || forgotten !== undefined,
  };
}
