import { finished, PassThrough, type Readable } from 'node:stream';
import { storageFault } from './storage-fault';

/** Reads on from a source of the storage; what breaks there is the storage's fault. */
export function storedReader(source: Readable): Readable {
  const reader = new PassThrough();
  // The source may break before anybody listens, and an error nobody listens to ends the process.
  reader.on('error', () => undefined);
  // Whoever stops reading does not know of the source, whose file or connection is to be closed.
  reader.once('close', () => source.destroy());
  finished(source, { writable: false }, (error) => {
    if (error) reader.destroy(storageFault(error));
  });
  return source.pipe(reader);
}
