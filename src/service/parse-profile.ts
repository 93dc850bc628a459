import type { z } from 'zod';
import { cleanText } from '../contract/clean-text';
import { profileSchema, type ServiceProfile } from './profile';
import { requestProblems } from './word-request';

/** A file with more problems is not a profile. */
const MAX_PROBLEMS = 20;
const MAX_PROBLEM_LENGTH = 300;

export type ParsedProfile = { ok: true; profile: ServiceProfile } | { ok: false; problem: string };

/** The profile, or one line that lists its problems: the field, the form that is expected, and an example. */
export function parseProfile(given: unknown): ParsedProfile {
  const { data, error } = profileSchema.safeParse(given);
  const problems = error
    ? error.issues.flatMap((issue) => describeIssue(issue, 'the profile'))
    : requestProblems(data).map((problem) => `request ${problem}`);
  if (data && problems.length === 0) return { ok: true, profile: data };
  const shown = [...new Set(problems)].slice(0, MAX_PROBLEMS);
  return { ok: false, problem: shown.map((problem) => cleanText(problem, MAX_PROBLEM_LENGTH)).join('; ') };
}

/** Its problems. The errors of the schema say what each field must be; `whole` names what has no path. */
export function describeIssue(issue: z.core.$ZodIssue, whole: string): string[] {
  const at = (...more: PropertyKey[]) => [...issue.path, ...more].join('.') || whole;
  switch (issue.code) {
    case 'unrecognized_keys':
      return [`${issue.keys.map((key) => at(key)).join(' and ')} is ${issue.message}`];
    case 'invalid_union': {
      if (issue.message !== 'Invalid input') return [`${at()} ${issue.message}`];
      // The closest alternative has the most useful message.
      const depth = (issues: z.core.$ZodIssue[]) => issues[0]?.path.length ?? 0;
      const [closest = []] = [...issue.errors].sort((a, b) => a.length - b.length || depth(b) - depth(a));
      return closest.flatMap((one) => describeIssue({ ...one, path: [...issue.path, ...one.path] }, whole));
    }
    case 'invalid_key':
      return issue.issues.map(({ message }) => `${at()} ${message}`);
    default:
      return [`${at()} ${issue.message}`];
  }
}
