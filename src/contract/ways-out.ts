/** How a lost submit can be settled from a terminal, for people who read of it there or in the Temporal UI. */
export function waysOut(workflowId: string): { when: string; command: string }[] {
  const decide = `videogen decide ${workflowId}`;
  return [
    { when: 'the task is there', command: `${decide} --adopt TASK_ID` },
    {
      when: 'it is not there, and would be paid for again if it came after all',
      command: `${decide} --resubmit`,
    },
    { when: 'the video is no longer wanted', command: `${decide} --abandon` },
  ];
}
