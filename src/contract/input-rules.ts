/** Rules of a job's own fields that doors and workflow share: a job can be started past every door that parses. */

const LONGEST_KEY = 500;
const LONGEST_TASK_ID = 1_000;

export const STORAGE_RULE =
  'must name a place inside the storage, such as "foxes/red.mp4", or "foxes/" for a folder';
export const TASK_ID_RULE = `must be text of at most ${LONGEST_TASK_ID} characters, and not empty`;

export function isTaskId(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST_TASK_ID;
}

/** True for a key or prefix that stays inside the storage, whatever kind of storage it is. */
export function isStorageKey(key: unknown): key is string {
  if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY) return false;
  if (/[\p{Cc}\\]|^\/|^[a-z]:/iu.test(key)) return false;
  const [last, ...folders] = key.split('/').reverse();
  return (last === '' || isName(last)) && folders.every(isName);
}

function isName(part: string | undefined): boolean {
  return part !== undefined && part !== '' && part !== '.' && part !== '..';
}
