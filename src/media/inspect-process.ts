import { inspectVideo, type VideoInspection } from './inspect-video';

/** What the process answers to a path, and once when it is ready. */
export interface InspectionAnswer {
  inspection?: VideoInspection;
  /** The file cannot be read. */
  error?: string;
  /** How large the process is now. */
  rssBytes: number;
}

/** A process that inspects one file after the other: each message is a path, and gets an answer. It ends with its parent. */
const answer = (result: Omit<InspectionAnswer, 'rssBytes'>) =>
  process.send?.({ ...result, rssBytes: process.memoryUsage.rss() } satisfies InspectionAnswer);

// Ctrl-C reaches every process of a terminal, but the parent decides when an inspection ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', (path: string) =>
  inspectVideo(path).then(
    (inspection) => answer({ inspection }),
    (error: unknown) => answer({ error: String(error) }),
  ),
);
answer({});
