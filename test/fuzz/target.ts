import type { fc } from '../support/properties';

/** What came of one input. */
export interface Seen {
  /** Every text that a person sees. */
  texts: readonly string[];
  /** What only programs read: it may contain control characters, but no secret. */
  data?: readonly string[];
  /** Whether the product refused the input. An error means that it did. */
  refused?: boolean;
  /** What is wrong beyond the rules that hold for every target. */
  problems?: readonly string[];
}

/** Something that others feed: what they may feed it, and how it is fed. */
export interface Target<Input> {
  /** Mostly nearly valid, partly hostile. */
  inputs: fc.Arbitrary<Input>;
  /** A valid input. It comes first and is not measured, because it loads modules. */
  plain: Input;
  /** How many inputs the suite tries. */
  inSuite: number;
  /** Whether it calls a server on this machine or starts a process; the others may do neither. */
  connects?: boolean;
  /** The most processor time of one input, if it is more than a second. */
  mostMs?: number;
  open?(): Promise<void>;
  /** Feeds the product. The folder is the only one that may be written to, and is empty. */
  feed(input: Input, folder: string): Promise<Seen> | Seen;
  close?(): Promise<void>;
}
