import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const noteSchema = z.object({
  pid: z.int(),
  serverPid: z.int(),
  address: z.string(),
  namespace: z.string(),
  uiUrl: z.string().optional(),
  /** Address of its gateway, which only `videogen dev` has. */
  pageUrl: z.string().optional(),
  /** The services of its worker, as `servicesInUse` names them; unset for the emulator. */
  serviceName: z.string().optional(),
  /** Its worker's emulator. Every process that can read this note may use it. */
  emulator: z.object({ url: z.string(), key: z.string() }).optional(),
  /** Address of its worker's storage. */
  storage: z.string(),
});

/** A running stack's note to other processes of this machine. */
export type StackNote = z.infer<typeof noteSchema>;

const noteFile = (folder: string) => join(folder, 'stack.json');

export async function readStackNote(folder: string): Promise<StackNote | undefined> {
  try {
    return noteSchema.parse(JSON.parse(await readFile(noteFile(folder), 'utf8')));
  } catch {
    return undefined;
  }
}

export async function writeStackNote(folder: string, note: StackNote): Promise<void> {
  const temporary = `${noteFile(folder)}.${process.pid}`;
  await writeFile(temporary, JSON.stringify(note), { mode: 0o600 });
  await rename(temporary, noteFile(folder));
}

export async function removeStackNote(folder: string): Promise<void> {
  await rm(noteFile(folder), { force: true });
}
