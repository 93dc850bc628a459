/** How a lost submit can be settled from a terminal, for people who read of it there or in the Temporal UI. */
export function waysOut(workflowId: string, item?: number): { when: string; command: string }[] {
  const decide = `videogen decide ${workflowId}${item === undefined ? '' : ` --item ${item}`}`;
  return [
    { when: 'the task is there', command: `${decide} --adopt TASK_ID` },
    {
      when: 'it is not there; if it comes after all, both are paid for',
      command: `${decide} --resubmit`,
    },
    { when: 'the video is no longer wanted', command: `${decide} --abandon` },
  ];
}
