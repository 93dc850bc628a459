import { open } from 'node:fs/promises';
import { StorageFault } from '../../src/storage';
import { FileSink } from '../../src/storage/file-sink';
import { VIDEO } from './storage-contract';

it('a write that the system refuses is a StorageFault', async () => {
  const readOnly = await open(__filename, 'r');
  try {
    const sink = new FileSink(readOnly);
    const failed = new Promise((resolve) => sink.once('error', resolve));
    sink.end(VIDEO);
    const error = await failed;
    expect(error).toBeInstanceOf(StorageFault);
    expect(String(error)).toContain('EBADF');
  } finally {
    await readOnly.close();
  }
});

it('a file is complete when the system writes only a part of each buffer', async () => {
  const written: Buffer[] = [];
  const slow = {
    async writev<Views extends readonly NodeJS.ArrayBufferView[]>(buffers: Views) {
      const all = Buffer.concat(
        buffers.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
      );
      const taken = Buffer.from(all.subarray(0, 777));
      written.push(taken);
      return { bytesWritten: taken.length, buffers };
    },
    datasync: async () => undefined,
  };
  const sink = new FileSink(slow);
  const bytes = VIDEO.subarray(0, 100_001);
  for (let at = 0; at < bytes.length; at += 1_000) sink.write(bytes.subarray(at, at + 1_000));
  await new Promise<void>((resolve) => sink.end(resolve));
  expect(Buffer.concat(written).equals(bytes)).toBe(true);
  expect(sink.bytesWritten).toBe(bytes.length);
});

it('a failed sync is reported at the end, however long ago it was', async () => {
  const failing = {
    writev: async <Views extends readonly NodeJS.ArrayBufferView[]>(buffers: Views) => ({
      bytesWritten: buffers.reduce((sum, { byteLength }) => sum + byteLength, 0),
      buffers,
    }),
    datasync: () => Promise.reject(new Error('EIO: i/o error')),
  };
  const sink = new FileSink(failing);
  const failed = new Promise((resolve) => sink.once('error', resolve));
  for (let mebibytes = 0; mebibytes < 40; mebibytes++) sink.write(Buffer.alloc(1024 * 1024));
  sink.end();
  const error = await failed;
  expect(error).toBeInstanceOf(StorageFault);
  expect(String(error)).toContain('EIO');
});

it('bytes are synced while more come, 32 MiB at a time and one sync after the other', async () => {
  const syncs: (() => void)[] = [];
  const file = {
    writev: async <Views extends readonly NodeJS.ArrayBufferView[]>(buffers: Views) => ({
      bytesWritten: buffers.reduce((sum, { byteLength }) => sum + byteLength, 0),
      buffers,
    }),
    datasync: () => new Promise<void>((resolve) => syncs.push(resolve)),
  };
  const sink = new FileSink(file);
  const mebibyte = Buffer.alloc(1024 * 1024);
  const syncsAfter = async (mebibytes: number) => {
    for (let count = 0; count < mebibytes; count++)
      await new Promise((resolve) => sink.write(mebibyte, resolve));
    return syncs.length;
  };
  expect(await syncsAfter(31)).toBe(0);
  expect(await syncsAfter(1)).toBe(1);
  expect(await syncsAfter(40)).toBe(1);
  syncs[0]?.();
  expect(await syncsAfter(1)).toBe(2);
  syncs[1]?.();
  expect(await syncsAfter(31)).toBe(2);
  expect(await syncsAfter(1)).toBe(3);
  syncs[2]?.();
  await new Promise<void>((resolve) => sink.end(resolve));
});
