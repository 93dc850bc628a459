import { createDecipheriv } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';

type History = temporal.api.history.v1.IHistory;
type Event = temporal.api.history.v1.IHistoryEvent;
type RunInfo = temporal.api.workflow.v1.IWorkflowExecutionInfo;
type Payload = temporal.api.common.v1.IPayload;

/** One run of a workflow, read from Temporal itself and decrypted without the product. */
export interface Run {
  workflowId: string;
  type: string;
  parentId?: string;
  startMs: number;
  /** Temporal's name for it, such as `COMPLETED`. */
  status: string;
  memo: Record<string, unknown>;
  history: History;
  input: Record<string, unknown>;
  result?: Record<string, unknown>;
  failure?: { type: string; message: string; details: Record<string, unknown> };
  /** Decisions that the run accepted, by the ids of the updates. */
  decisions: Map<string, string>;
}

const ENCRYPTED = 'binary/videogen-encrypted';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const { Payload: PayloadMessage } = temporal.api.common.v1;
const { WorkflowExecutionStatus } = temporal.api.enums.v1;

export interface Key {
  id: string;
  key: Buffer;
}

export async function readRuns(address: string, keys: readonly Key[]): Promise<Run[]> {
  const connection = await Connection.connect({ address, connectTimeout: '30s' });
  try {
    const infos = await listRuns(connection);
    const runs: Run[] = [];
    // A few at a time, because Temporal limits how many are read.
    for (let at = 0; at < infos.length; at += 8)
      runs.push(
        ...(await Promise.all(infos.slice(at, at + 8).map((info) => readRun(connection, info, keys)))),
      );
    return runs.sort((a, b) => a.startMs - b.startMs);
  } finally {
    await connection.close();
  }
}

interface Page {
  nextPageToken?: Uint8Array | null;
}

async function readPages<P extends Page>(read: (token: Uint8Array) => Promise<P>): Promise<P[]> {
  const pages: P[] = [];
  let token = new Uint8Array();
  do {
    const page = await read(token);
    pages.push(page);
    token = new Uint8Array(page.nextPageToken ?? []);
  } while (token.length > 0);
  return pages;
}

async function listRuns({ workflowService }: Connection): Promise<RunInfo[]> {
  const pages = await readPages((nextPageToken) =>
    workflowService.listWorkflowExecutions({ namespace: 'default', pageSize: 500, nextPageToken }),
  );
  return pages.flatMap(({ executions }) => executions ?? []);
}

async function readRun({ workflowService }: Connection, info: RunInfo, keys: readonly Key[]): Promise<Run> {
  const named = { namespace: 'default', execution: info.execution };
  const pages = await readPages((nextPageToken) =>
    workflowService.getWorkflowExecutionHistory({ ...named, nextPageToken }),
  );
  const events = pages.flatMap(({ history }) => history?.events ?? []);
  // The list lags behind what the service knows of a run.
  const described = await workflowService.describeWorkflowExecution(named);
  const now = described.workflowExecutionInfo ?? info;
  decrypt(events, keys);
  decrypt(now.memo, keys);
  const first = events[0]?.workflowExecutionStartedEventAttributes;
  const last = events.at(-1);
  const failed = last?.workflowExecutionFailedEventAttributes?.failure;
  return {
    workflowId: info.execution?.workflowId ?? '',
    type: info.type?.name ?? '',
    ...(now.parentExecution?.workflowId && { parentId: now.parentExecution.workflowId }),
    startMs: Number(info.startTime?.seconds ?? 0) * 1_000 + Number(info.startTime?.nanos ?? 0) / 1e6,
    status: WorkflowExecutionStatus[now.status ?? 0]?.replace('WORKFLOW_EXECUTION_STATUS_', '') ?? '',
    memo: Object.fromEntries(
      Object.entries(now.memo?.fields ?? {}).map(([name, value]) => [name, readPayload(value)]),
    ),
    history: { events },
    input: Object(readPayload(first?.input?.payloads?.[0])),
    ...(last?.workflowExecutionCompletedEventAttributes && {
      result: Object(readPayload(last.workflowExecutionCompletedEventAttributes.result?.payloads?.[0])),
    }),
    ...(failed && {
      failure: {
        type: failed.applicationFailureInfo?.type ?? '',
        message: failed.message ?? '',
        details: Object(readPayload(failed.applicationFailureInfo?.details?.payloads?.[0])),
      },
    }),
    decisions: new Map(events.flatMap(decisionIn)),
  };
}

/** A decision counts when it was carried out without an error. A reset repeats it under the same id. */
function decisionIn(event: Event, _: number, events: Event[]): [string, string][] {
  const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
  const request = accepted?.acceptedRequest;
  if (request?.input?.name !== 'decideSubmit') return [];
  const done = events.find(
    (other) =>
      String(other.workflowExecutionUpdateCompletedEventAttributes?.acceptedEventId) ===
      String(event.eventId),
  );
  if (!done?.workflowExecutionUpdateCompletedEventAttributes?.outcome?.success) return [];
  const { decision } = Object(readPayload(request.input.args?.payloads?.[0]));
  return [[String(request.meta?.updateId), String(decision)]];
}

function readPayload(payload: Payload | null | undefined): unknown {
  if (!payload?.data?.length) return undefined;
  try {
    return JSON.parse(Buffer.from(payload.data).toString());
  } catch {
    return undefined;
  }
}

/** Puts plain payloads, and the messages of failures, in the place of encrypted ones. */
function decrypt(part: unknown, keys: readonly Key[]): void {
  if (typeof part !== 'object' || part === null || part instanceof Uint8Array) return;
  for (const [name, value] of Object.entries(part)) {
    if (Object(value).metadata?.encoding instanceof Uint8Array) Reflect.set(part, name, plain(value, keys));
    else decrypt(value, keys);
  }
  const { encodedAttributes }: { encodedAttributes?: Payload | null } = part;
  const { message } = Object(readPayload(encodedAttributes));
  if (typeof message === 'string') Reflect.set(part, 'message', message);
}

function plain(payload: Payload, keys: readonly Key[]): Payload {
  const text = (name: string) => Buffer.from(payload.metadata?.[name] ?? []).toString();
  if (text('encoding') !== ENCRYPTED) return payload;
  const id = text('encryption-key-id');
  const found = keys.find((one) => one.id === id);
  if (found === undefined) throw new Error(`a payload is encrypted with a key ${id} that nobody has`);
  const data = payload.data ?? new Uint8Array();
  const names = ['encoding', 'encryption-cipher', 'encryption-key-id'];
  const open = Object.fromEntries(names.map((name) => [name, Buffer.from(text(name))]));
  const decipher = createDecipheriv('aes-256-gcm', found.key, data.subarray(0, IV_BYTES));
  decipher.setAAD(PayloadMessage.encode({ metadata: open }).finish());
  decipher.setAuthTag(data.subarray(-TAG_BYTES));
  const parts = [decipher.update(data.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()];
  return PayloadMessage.toObject(PayloadMessage.decode(Buffer.concat(parts))) as Payload;
}
