import type { z } from 'zod';

/** Its problems, each after the path of its field; `whole` names what has no path. */
export function describeIssue(issue: z.core.$ZodIssue, whole = 'the profile'): string[] {
  const at = issue.path.join('.') || whole;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => `${issue.path.concat(key).join('.')} is not known`);
    case 'invalid_type':
      return [`${at} must be of type ${issue.expected}`];
    case 'invalid_union': {
      // The closest alternative has the most useful message.
      const depth = (issues: z.core.$ZodIssue[]) => issues[0]?.path.length ?? 0;
      const [closest] = [...issue.errors].sort((a, b) => a.length - b.length || depth(b) - depth(a));
      const inner = (closest ?? []).map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
      return inner.length > 0
        ? inner.flatMap((one) => describeIssue(one as z.core.$ZodIssue, whole))
        : [`${at} is not valid`];
    }
    case 'invalid_key':
      return issue.issues.map(({ message }) => `${at} ${message}`);
    case 'invalid_value':
      return [`${at} must be one of ${issue.values.join(', ')}`];
    default:
      return [`${at} ${ruleOf(issue)}`];
  }
}

/** zod words these for programmers: "Too small: expected array to have >=1 items". Messages of our own stay as they are. */
function ruleOf(issue: z.core.$ZodIssue): string {
  if (!/^Too (small|big):/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'too_small': {
      const { origin, minimum, inclusive } = issue;
      const unit = UNITS[origin];
      if (unit) return Number(minimum) === 1 ? unit.atLeastOne : `must have at least ${minimum} ${unit.many}`;
      return `must be ${inclusive === false ? 'more than' : 'at least'} ${minimum}`;
    }
    case 'too_big': {
      const { origin, maximum, inclusive } = issue;
      const unit = UNITS[origin];
      if (unit) return `must have at most ${maximum} ${unit.many}`;
      return `must be ${inclusive === false ? 'less than' : 'at most'} ${maximum}`;
    }
    default:
      return issue.message;
  }
}

/** What is counted in a value that has a length. */
const UNITS: Record<string, { many: string; atLeastOne: string } | undefined> = {
  string: { many: 'characters', atLeastOne: 'must not be empty' },
  array: { many: 'entries', atLeastOne: 'must have at least one entry' },
};
