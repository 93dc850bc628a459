import { settingProblems } from '../../config/all-settings';
import { type Check, ok, wrong } from './check';

export const checkSettings: Check = {
  name: 'settings',
  async run({ env }) {
    const problems = settingProblems(env);
    if (problems.length === 0) return ok('all can be read');
    const found = problems.length === 1 ? 'one of them is wrong' : `${problems.length} of them are wrong`;
    return wrong(found, problems.join('\n'));
  },
};
