import type { JobProgress } from '../../src/contract/job';
import { batchDetails, currentDetails } from '../../workflows/ui-details';
import { hostileText, STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';

const hold = { since: '2026-01-01T00:00:00.000Z', until: '2026-01-02T00:00:00.000Z' };

/** A code span with any number of backticks, or an escaped character. */
const INERT = /(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)|\\./gsu;

test('details for the Temporal UI escape all names and messages of others', () => {
  fc.assert(
    fc.property(hostileText, hostileText, (name, word) => {
      const progress: JobProgress = {
        phase: 'needs-decision',
        polls: 1,
        taskId: name,
        task: { state: 'running', word },
        problem: { type: 'RateLimited', message: word, count: 1 },
        hold: { ...hold, message: word },
        startedAt: hold.since,
        deadlineAt: hold.until,
      };
      const running = [{ item: 1, name, isHeld: true }];
      const counts = { items: 5, succeeded: 0, failed: 0, running, stopping: word };
      for (const details of [currentDetails(progress, undefined, name), batchDetails(counts)]) {
        expect(details).not.toMatch(STEERING);
        // Only our headline has Markdown.
        const rest = details.replace(/^\*\*[^*]+\*\*/, '').replace(INERT, '');
        expect(rest).not.toMatch(/[`[\]<>!_*]/);
      }
    }),
  );
});
