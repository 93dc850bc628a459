import { type LineProblem, shown, VideoFailure } from '../contract';

/** Enough to correct the file by; the next run tells the others. */
const MOST_LINES = 10;

/** A file of requests with mistakes in it: a program is told in one sentence, a person in a line for each. */
export class BadLines extends VideoFailure {
  /** `foxes.jsonl:4: prompt is missing`, as compilers word it and editors open it. */
  readonly lines: readonly string[];

  constructor(file: string, { problem, problems }: { problem: string; problems: readonly LineProblem[] }) {
    super('InvalidRequest', { message: `${file}: ${problem}` });
    const more = problems.length - MOST_LINES;
    this.lines = [
      ...problems.slice(0, MOST_LINES).map((told) => `${placeOf(file, told)}: ${shown(told.problem)}`),
      ...(more > 0 ? [`and ${more} more`] : []),
      'Nothing was started. Correct the file and run the command again.',
    ];
  }
}

function placeOf(file: string, { line }: LineProblem): string {
  return line === undefined ? shown(file) : `${shown(file)}:${line}`;
}
