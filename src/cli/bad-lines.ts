import { shown } from '../contract/clean-text';
import type { LineProblem } from '../contract/request';
import { VideoFailure } from '../contract/video-failure';

/** The next run reports the rest. */
const MAX_PROBLEMS_SHOWN = 10;

/** A file of requests with problems: one message for programs, a line for each problem for people. */
export class BadLines extends VideoFailure {
  /** `foxes.jsonl:4: prompt is missing`, a format that editors can open. */
  readonly lines: readonly string[];

  constructor(file: string, { problem, problems }: { problem: string; problems: readonly LineProblem[] }) {
    super('InvalidRequest', { message: `${file}: ${problem}` });
    const more = problems.length - MAX_PROBLEMS_SHOWN;
    this.lines = [
      ...problems
        .slice(0, MAX_PROBLEMS_SHOWN)
        .map((one) => `${locationOf(file, one)}: ${shown(one.problem)}`),
      ...(more > 0 ? [`and ${more} more`] : []),
      'Nothing was started. Correct the file and run the command again.',
    ];
  }
}

function locationOf(file: string, { line }: LineProblem): string {
  return line === undefined ? shown(file) : `${shown(file)}:${line}`;
}
