import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { bundleFiles } from '../../src/worker/own-workflows';
import { activities } from '../support/history';
import { captureLogs } from '../support/logs';
import { atLength } from '../support/nightly';
import { bundlePath } from '../support/world';

const folder = join(__dirname, '../histories');
const names = readdirSync(folder)
  .map((file) => file.replace('.json', ''))
  .sort();
/** The same code in another form: a job that continued as new shows that it works. */
const forPackage = atLength(['continued'], names);

/** What to do instead of recording the history again. */
const ADVICE =
  "Jobs like it may be running during a release: put the change behind patched('…'), or release it as a new pinned " +
  'version. See "Workflows that are running while you change them" in CONTRIBUTING.md.';

beforeAll(() => {
  captureLogs();
});

/** The end of the longest history is more of the same, and takes a quarter of a minute. */
const MOST_EVENTS = atLength(500, Number.POSITIVE_INFINITY);

/** A recorded history; of one that is too long, the beginning up to the start of a workflow task. */
function read(name: string): object {
  const { events } = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
  if (events.length <= MOST_EVENTS) return { events };
  const first = events.slice(0, MOST_EVENTS);
  const isTask = ({ eventType }: { eventType: string }) => eventType === 'EVENT_TYPE_WORKFLOW_TASK_STARTED';
  return { events: first.slice(0, first.findLastIndex(isTask) + 1) };
}

/** The names of the jobs that were replayed, and why some did not. */
async function replay(jobs: Record<string, unknown>, codePath = bundlePath()) {
  const histories = Object.entries(jobs).map(([workflowId, json]) => ({
    workflowId,
    history: historyFromJSON(json),
  }));
  const replayed: string[] = [];
  const problems: string[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories(
    { workflowBundle: { codePath } },
    histories,
  )) {
    replayed.push(workflowId);
    if (error) problems.push(`${workflowId} does not replay. ${ADVICE} ${error}`);
  }
  return { replayed: replayed.sort(), problems };
}

const recorded = (chosen: string[]) => Object.fromEntries(chosen.map((name) => [name, read(name)]));

test('today’s workflow replays each recorded job', async () => {
  expect(await replay(recorded(names))).toEqual({ replayed: names, problems: [] });
}, 180_000);

test('a poll adds six events to the history of a job', () => {
  const history = historyFromJSON(read('well'));
  const polls = activities(history).filter(({ type }) => type === 'pollVideo');
  expect(polls).toEqual(polls.map((poll) => ({ ...poll, isLocal: true })));
  expect(history.events).toHaveLength(19 + 6 * polls.length);
});

test('the bundle in the package replays recorded jobs', async () => {
  const { code } = bundleFiles(join(__dirname, '../../dist/workflows'));
  expect(await replay(recorded(forPackage), code)).toEqual({ replayed: forPackage, problems: [] });
});

test('a history of another workflow does not replay, and the failure says what to do', async () => {
  const foreign = JSON.stringify(read('well')).replace('"name":"downloadVideo"', '"name":"fetchVideo"');
  const { problems } = await replay({ well: JSON.parse(foreign), deadline: read('deadline') });
  expect(problems).toEqual([expect.stringMatching(/^well does not replay\. .*patched.*[Nn]ondeterminism/s)]);
});
