/** A text with something replaced, and the first words of the rule that refuses it. */
export type Mistake = [what: string, search: string | RegExp, replacement: string, rule: string];

/** The rules that no mistake is for. */
export function rulesWithoutMistake(rules: object, mistakes: readonly Mistake[]): string[] {
  return Object.keys(rules).filter((name) => !mistakes.some(([, , , rule]) => name.startsWith(rule)));
}

/** The only rule whose name starts with these words. */
export function ruleNamed(rules: object, words: string): string {
  const [name = '', ...others] = Object.keys(rules).filter((candidate) => candidate.startsWith(words));
  if (name === '' || others.length > 0) throw new Error(`"${words}" names no rule, or more than one`);
  return name;
}

/** Expects that the rule which a mistake names refuses the text with it. */
export function expectRefused<T>(
  rules: Record<string, (read: T) => string[]>,
  read: (text: string) => T,
  text: string,
  [, search, replacement, rule]: Mistake,
): void {
  const broken = text.replace(search, replacement);
  expect(broken).not.toBe(text);
  expect(rules[ruleNamed(rules, rule)]?.(read(broken))).not.toEqual([]);
}
