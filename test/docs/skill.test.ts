import { parse } from 'yaml';
import { name } from '../../package.json';
import { readSkill } from '../support/docs-page';

const skill = readSkill();

/** An agent reads all of it before it begins. */
const MAX_SKILL_LINES = 130;

test('SKILL.md is short, and begins with the name and the description that agents choose it by', () => {
  expect(skill.trimEnd().split('\n').length).toBeLessThanOrEqual(MAX_SKILL_LINES);
  const [, frontMatter = ''] = /^---\n(.*?)^---\n\n# /ms.exec(skill) ?? [];
  const { description, ...others } = parse(frontMatter);
  expect(others).toEqual({ name });
  // The limits of agentskills.io.
  expect(name).toMatch(/^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/);
  expect(description).toMatch(/^(?=.{1,1024}$).+[.] Use it when .+[.]$/);
});

test('all commands of SKILL.md are in its shell blocks, which test/package/skill.test.ts runs', () => {
  const prose = skill.replaceAll(/^```.*?^```$/gms, '');
  expect(prose.match(/`(?:npx|npm|node|videogen) [^`]*`/g)).toBeNull();
});
