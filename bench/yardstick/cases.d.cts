export interface Case {
  name: string;
  seed: string;
  call: 'submit' | 'status' | 'download';
  /** A fault of the emulator. Without one, the program is killed. */
  fault?: { kind: string };
  when?: 'asked' | 'done' | 'part' | 'after';
  ready?: boolean;
  nth: number;
  share: number;
  pauseMs: number;
  runningPolls: number;
  videoBytes: number;
}

export function casesOf(seed: string): Case[];
