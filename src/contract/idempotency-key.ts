/**
 * What identifies a job: its namespace, name and request, the same in every attempt and every run. Its SHA-256 is the
 * idempotency key of the submit, unless the input names one.
 */
export function keyMaterial(namespace: string, job: string, request: object): string {
  const fields = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([namespace, job, fields]);
}
