/**
 * How many letters must be added, removed or changed to turn one word into the other; more than `most` for words whose
 * lengths alone differ by more. Comparing with a very long name would take seconds.
 */
export function editDistance(a: string, b: string, most: number): number {
  const difference = Math.abs(a.length - b.length);
  if (difference > most) return difference;
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
