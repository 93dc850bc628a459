/** What a job cost. */
export interface Bill {
  /** Tasks that the service made. */
  paid: number;
  /** 1 if the file is the video of one of them. */
  delivered: number;
  /** 1 if something was paid for and no whole video arrived. */
  lost: number;
  /** Tasks beyond the first. */
  paidTwice: number;
  /** 1 if the file is not the video. */
  corruptAccepted: number;
}

export function billOf(job: { tasks: { sha256: string }[]; file: string }): Bill;
export function sumOf(bills: Bill[]): Bill;
