import { z } from 'zod';

/** What an issue is about: the schema that found it, whose examples are shown, and a name for what has no path. */
export interface IssueContext {
  schema?: z.core.$ZodType;
  whole?: string;
}

/** Its problems: the path of the field, the form that is expected, and an example of it. */
export function describeIssue(issue: z.core.$ZodIssue, context: IssueContext = {}): string[] {
  const { schema, whole = 'the profile' } = context;
  const at = issue.path.join('.') || whole;
  const told = (problem: string) => [`${at} ${problem}${exampleText(schema, issue.path, problem)}`];
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = keysOf(partAt(schema, issue.path));
      const hint = known.length > 0 ? `: ${at} has ${known.join(', ')}` : '';
      return issue.keys.map((key, index) => {
        const isLast = index === issue.keys.length - 1;
        return `${issue.path.concat(key).join('.')} is not known${isLast ? hint : ''}`;
      });
    }
    case 'invalid_type':
      return told(`must be of type ${issue.expected}`);
    case 'invalid_union': {
      // The closest alternative has the most useful message.
      const depth = (issues: z.core.$ZodIssue[]) => issues[0]?.path.length ?? 0;
      const [closest] = [...issue.errors].sort((a, b) => a.length - b.length || depth(b) - depth(a));
      const inner = (closest ?? []).map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
      return inner.length > 0
        ? inner.flatMap((one) => describeIssue(one as z.core.$ZodIssue, context))
        : told('is not valid');
    }
    case 'invalid_key':
      return issue.issues.map(({ message }) => `${at} ${message}`);
    case 'invalid_value':
      return told(`must be one of ${issue.values.join(', ')}`);
    default:
      return told(ruleOf(issue));
  }
}

/** `, such as "/v1/videos/{taskId}"`, unless the problem says it itself. */
function exampleText(schema: z.core.$ZodType | undefined, path: PropertyKey[], problem: string): string {
  const [example] = exampleOf(partAt(schema, path)) ?? [];
  if (example === undefined || / such as |must be one of|must not be |at most /.test(problem)) return '';
  return `, such as ${JSON.stringify(example)}`;
}

function exampleOf(part: z.core.$ZodType | undefined): unknown[] | undefined {
  if (part === undefined) return undefined;
  const own = z.globalRegistry.get(part)?.examples;
  if (Array.isArray(own)) return own;
  const { def } = part._zod as { def: Def };
  const inner = def.innerType === undefined ? (def.options ?? []) : [def.innerType];
  return inner.map(exampleOf).find((found) => found !== undefined);
}

/** The kinds of schema that a profile has. */
interface Def {
  innerType?: z.core.$ZodType;
  options?: z.core.$ZodType[];
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  valueType?: z.core.$ZodType;
}

/** The part of a schema that a path leads to. */
function partAt(part: z.core.$ZodType | undefined, [step, ...rest]: PropertyKey[]): typeof part {
  if (part === undefined || step === undefined) return part;
  const { innerType, options, shape, element, valueType } = (part._zod as { def: Def }).def;
  if (innerType) return partAt(innerType, [step, ...rest]);
  if (options) return options.map((one) => partAt(one, [step, ...rest])).find((found) => found !== undefined);
  const next = shape && Object.hasOwn(shape, step) ? shape[String(step)] : (element ?? valueType);
  return partAt(next, rest);
}

function keysOf(part: z.core.$ZodType | undefined): string[] {
  if (part === undefined) return [];
  const { innerType, options, shape } = (part._zod as { def: Def }).def;
  if (innerType) return keysOf(innerType);
  return options ? options.flatMap(keysOf) : Object.keys(shape ?? {}).filter((key) => key !== '$schema');
}

/** zod words these for programmers: "Too small: expected array to have >=1 items". Messages of our own stay as they are. */
function ruleOf(issue: z.core.$ZodIssue): string {
  if (!/^Too (small|big):/.test(issue.message)) return issue.message;
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return issue.message;
  const isSmall = issue.code === 'too_small';
  const bound = isSmall ? issue.minimum : issue.maximum;
  const unit = { string: 'characters', array: 'entries' }[String(issue.origin)];
  if (unit === undefined) {
    const word = issue.inclusive === false ? ['more than', 'less than'] : ['at least', 'at most'];
    return `must be ${word[isSmall ? 0 : 1]} ${bound}`;
  }
  if (isSmall && Number(bound) === 1)
    return unit === 'characters' ? 'must not be empty' : 'must have at least one entry';
  return `must have ${isSmall ? 'at least' : 'at most'} ${bound} ${unit}`;
}
