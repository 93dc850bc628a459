interface Break {
  mistake: string;
  /** A module of the activities; a workflow by default. */
  file?: string;
  from: string;
  to: string;
}

/** The end of what a job carries over. */
const CARRIED = 'pastHoldsMs: this.hold.heldMs';
const carrying = (mistake: string, changed: string): Break => ({
  mistake,
  from: CARRIED,
  to: `${changed}, ${CARRIED}`,
});

/**
 * Deliberate mistakes, as changes of the compiled code. The model must find each: `npm run model -- --scripts 1000 --seed 7
 * --break time-held`.
 */
export const BREAKS = {
  record: {
    mistake: 'A submit ignores the record.',
    file: 'activities/submit/known-submits.ts',
    from: 'refuseForgotten)(recorded);',
    to: 'refuseForgotten)(recorded); recorded.task = undefined; recorded.openSends = [];',
  },
  notes: {
    mistake: 'A submit ignores the notes of the attempts before it.',
    file: 'activities/submit/submit-note.ts',
    from: 'const note = readNote(heartbeatDetails);',
    to: 'const note = readNote(undefined);',
  },
  lost: {
    mistake: 'An attempt that died without a note counts as one that sent nothing.',
    file: 'activities/submit/submit-note.ts',
    from: 'lastRun === 0 || attemptWithoutTask === lastRun',
    to: 'true',
  },
  claim: {
    mistake: 'A task that another job has is adopted.',
    file: 'activities/adopt-task.ts',
    from: 'if (other) {',
    to: 'if (false) {',
  },
  'next-service': {
    mistake: 'The next service is asked although the one before may have a task.',
    from: 'taskId === undefined && !mayHaveTask && lostSubmit === undefined',
    to: 'taskId === undefined',
  },
  'start-again': {
    mistake: 'A batch that runs again starts items again that have their video.',
    from: "'ALLOW_DUPLICATE_FAILED_ONLY' : 'REJECT_DUPLICATE'",
    to: "'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE'",
  },
  'time-held': {
    mistake: 'The time that a job was held counts towards its deadline again.',
    from: CARRIED,
    to: 'pastHoldsMs: undefined',
  },
  start: carrying('The deadline begins anew with each run.', 'startedAtMs: Date.now()'),
  'next-poll': carrying('How long the worker wants to wait is forgotten.', 'nextPollMs: 0'),
  adopted: carrying('An adopted task counts as one that the job submitted.', 'isAdopted: false'),
  problem: carrying('Polls that failed are forgotten.', 'problem: undefined'),
  kind: carrying('What the worker has learned about such tasks is forgotten.', 'kind: undefined'),
} satisfies Record<string, Break>;

/** Names the break for the processes that run the scripts. */
export const BREAK_VARIABLE = 'VIDEOGEN_MODEL_BREAK';

/** The code with the mistake that was asked for, if it is in this file; without a file, the bundled workflows. */
export function withBreak(code: string, file?: string): string {
  const asked = process.env[BREAK_VARIABLE];
  const found: Break | undefined = Object.entries(BREAKS).find(([name]) => name === asked)?.[1];
  if (found === undefined) return code;
  const isHere = found.file === undefined ? file === undefined : file?.endsWith(`/${found.file}`);
  return isHere ? changeOnce(code, found.from, found.to) : code;
}

/** Code with one change. A place that is not there, or not alone, would change nothing or too much. */
export function changeOnce(code: string, from: string | RegExp, to: string): string {
  const parts = code.split(from);
  if (parts.length !== 2) throw new Error(`${from} is ${parts.length - 1} times in the code, not once`);
  return parts.join(to);
}
