import { createInterface } from 'node:readline';
import { inspectVideo, type VideoInspection } from './inspect-video';

/** What the process answers to a path. */
export interface InspectionAnswer {
  inspection?: VideoInspection;
  /** The file cannot be read. */
  error?: string;
  /** How large the process is now. */
  rssBytes: number;
}

/**
 * A process that inspects one file after the other: each line on stdin is a path in JSON, and gets a line of JSON on
 * stdout. It ends when its stdin ends, so when its parent does.
 */
async function main(): Promise<void> {
  // Ctrl-C reaches every process of a terminal, but the parent decides when an inspection ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  const answer = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);
  answer('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    const result = await inspectVideo(JSON.parse(line)).then(
      (inspection) => ({ inspection }),
      (error: unknown) => ({ error: String(error) }),
    );
    answer({ ...result, rssBytes: process.memoryUsage.rss() } satisfies InspectionAnswer);
  }
}

main().then(
  () => process.exit(),
  (error) => {
    process.stderr.write(`${error}\n`);
    process.exit(1);
  },
);
