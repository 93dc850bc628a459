import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { plainHistory } from './plain-history';

type History = temporal.api.history.v1.IHistory;
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

export async function historyOf(client: Client, workflowId: string, runId?: string): Promise<History> {
  return plainHistory(client, await client.workflow.getHandle(workflowId, runId).fetchHistory());
}

interface PastActivity {
  type: string;
  isLocal: boolean;
  attempts: number;
  /** From the scheduling to the start of the last attempt; 0 for a local one. */
  waitedMs: number;
  summary?: string;
}

/** The activities in order, local ones too. */
export function activities(history: History): PastActivity[] {
  const events = history.events ?? [];
  return events.flatMap((event): PastActivity[] => {
    const summary = textOf(event.userMetadata?.summary?.data);
    const { activityTaskScheduledEventAttributes: scheduled, markerRecordedEventAttributes: marker } = event;
    if (marker?.markerName === 'core_local_activity') {
      const { activity_type: type = '', attempt: attempts = 0 }: LocalActivity = Object(
        textOf(marker.details?.data?.payloads?.[0]?.data),
      );
      return [{ type, isLocal: true, attempts, waitedMs: 0, summary }];
    }
    if (!scheduled) return [];
    const started = events.find(
      (other) =>
        other.activityTaskStartedEventAttributes?.scheduledEventId?.toString() === event.eventId?.toString(),
    );
    return [
      {
        type: scheduled.activityType?.name ?? '',
        isLocal: false,
        attempts: started?.activityTaskStartedEventAttributes?.attempt ?? 0,
        waitedMs: timeOf(started) - timeOf(event),
        summary,
      },
    ];
  });
}

interface LocalActivity {
  activity_type?: string;
  attempt?: number;
}

/** The histories of all runs of a workflow that continued as new, the last one first. */
export async function historiesOf(client: Client, workflowId: string): Promise<History[]> {
  const histories: History[] = [];
  let runId: string | undefined = (await client.workflow.getHandle(workflowId).describe()).runId;
  while (runId) {
    const history = await historyOf(client, workflowId, runId);
    histories.push(history);
    const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    runId = started?.continuedExecutionRunId || undefined;
  }
  return histories;
}

/** The lengths and summaries of the timers, in order. */
export function timers(history: History): { ms: number; summary?: string }[] {
  return (history.events ?? []).flatMap(({ timerStartedEventAttributes: timer, userMetadata }) =>
    timer ? [{ ms: durationMs(timer.startToFireTimeout), summary: textOf(userMetadata?.summary?.data) }] : [],
  );
}

interface Time {
  seconds?: { toString(): string } | null;
  nanos?: number | null;
}

function durationMs(time: Time | null | undefined): number {
  return Number(time?.seconds?.toString() ?? 0) * 1_000 + (time?.nanos ?? 0) / 1e6;
}

function timeOf(event: { eventTime?: Time | null } | undefined): number {
  return durationMs(event?.eventTime);
}

function textOf(data: Uint8Array | null | undefined): string | undefined {
  return data ? JSON.parse(Buffer.from(data).toString()) : undefined;
}
