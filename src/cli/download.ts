import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { inTime } from '../client/temporal-calls';
import { ConfigError } from '../config/service-config';
import { itemName } from '../contract/batch';
import { printableJson, shown } from '../contract/clean-text';
import { commandOn } from '../contract/lost-submit';
import { CopyFailed, checkOut, copyOut } from './copy-out';
import { EXIT } from './exit-codes';
import { findJob } from './find-job';
import { onJob } from './open-jobs';
import { printLine, type Terminal } from './terminal';

/** `videogen download`: copies the stored video of an ended job to a file. */
export function download(
  workflowId: string,
  { out, json }: { out?: string; json?: boolean },
  terminal: Terminal,
): Promise<number> {
  return onJob(workflowId, terminal, async (session) => {
    await checkOut(out);
    const { kind, endedAt } = await findJob(session, workflowId);
    const name = shown(workflowId);
    if (kind === 'batch') {
      const item = shown(itemName(workflowId, 1));
      throw new ConfigError(`${name} is a batch: name one of its items, such as ${item}.`);
    }
    if (endedAt === undefined)
      throw new ConfigError(`${name} has not ended yet. Follow it with: ${commandOn('watch', workflowId)}`);
    const { video } = await inTime(session.client, () => session.videos.handle(workflowId).result());
    const { bytes, sha256, uri } = video;
    // Under the name that it has in the storage, which fits every file system.
    const target = resolve(out ?? basename(await copyOut(uri, undefined)));
    // Nobody named this file.
    if (out === undefined && existsSync(target)) throw new CopyFailed(`${target} exists`);
    const file = await copyOut(uri, target, terminal.env, sha256);
    printLine(terminal, `Copied: ${bytes} bytes, SHA-256 ${sha256}.`);
    terminal.out(json ? printableJson({ workflowId, file, bytes, sha256 }) : file);
    return EXIT.ok;
  });
}
