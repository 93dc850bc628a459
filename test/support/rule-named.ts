/** The only rule whose name starts with these words. */
export function ruleNamed(rules: object, words: string): string {
  const [name = '', ...others] = Object.keys(rules).filter((candidate) => candidate.startsWith(words));
  if (name === '' || others.length > 0) throw new Error(`"${words}" names no rule, or more than one`);
  return name;
}
