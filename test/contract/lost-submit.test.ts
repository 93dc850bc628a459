import { FAILURES, isFailureType } from '../../src/contract/failure-table';
import { adoptCommand, decisionCommands, describeDecisionCommands } from '../../src/contract/lost-submit';

it('the commands that settle a lost submit name the job', () => {
  expect(describeDecisionCommands('foxes')).toBe(
    'decide with videogen decide foxes --adopt TASK_ID, or videogen decide foxes --resubmit, or videogen decide foxes --abandon',
  );
});

it('a name that looks like an option is never read as one', () => {
  expect(decisionCommands('--help').map(({ command }) => command)).toEqual([
    'videogen decide --adopt TASK_ID -- --help',
    'videogen decide --resubmit -- --help',
    'videogen decide --abandon -- --help',
  ]);
});

describe('the command that adopts the task of a failed job', () => {
  const withoutCommand = ['GenerationFailed', 'ContentRefused', 'GenerationCancelled'];

  it.each(Object.keys(FAILURES).filter(isFailureType))('fits %s', (type) => {
    const command = withoutCommand.includes(type) ? undefined : "videogen generate --adopt 'task 1'";
    expect(adoptCommand({ type, taskId: 'task 1' })).toBe(command);
  });

  it('asks for the task id only when a task may exist', () => {
    expect(adoptCommand({ type: 'SubmitUnconfirmed' })).toBe('videogen generate --adopt TASK_ID');
    expect(adoptCommand({ type: 'RateLimited' })).toBeUndefined();
  });
});
