import type { Payload } from '@temporalio/common';
import { Reader, Writer } from 'protobufjs/minimal';

/**
 * Temporal's message `Payload` as protobuf, so that what is encrypted can be read in every language. Written by hand because
 * the package with the generated messages belongs to the SDK: `map<string, bytes> metadata = 1; bytes data = 2`.
 */
const METADATA = (1 << 3) | 2;
const DATA = (2 << 3) | 2;
const NAME = (1 << 3) | 2;
const VALUE = (2 << 3) | 2;

export function writePayload({ metadata, data }: Payload): Uint8Array {
  const writer = Writer.create();
  for (const [name, value] of sortedEntries(metadata ?? {})) {
    writer.uint32(METADATA).fork().uint32(NAME).string(name).uint32(VALUE).bytes(value).ldelim();
  }
  if (data?.length) writer.uint32(DATA).bytes(data);
  return writer.finish();
}

/** Throws for bytes that are no payload. Fields that are not known here are skipped. */
export function readPayload(bytes: Uint8Array): Payload {
  const reader = Reader.create(bytes);
  const metadata: Record<string, Uint8Array> = {};
  let data: Uint8Array = new Uint8Array(0);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === METADATA) {
      const [name, value] = readEntry(reader);
      metadata[name] = value;
    } else if (tag === DATA) data = copyOf(reader.bytes());
    else reader.skipType(tag & 7);
  }
  return { metadata, data };
}

function readEntry(reader: Reader): [string, Uint8Array] {
  const end = reader.uint32() + reader.pos;
  let name = '';
  let value: Uint8Array = new Uint8Array(0);
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === NAME) name = reader.string();
    else if (tag === VALUE) value = copyOf(reader.bytes());
    else reader.skipType(tag & 7);
  }
  return [name, value];
}

/** In one order, so that equal payloads have equal bytes. */
export function sortedEntries(metadata: Record<string, Uint8Array>): [string, Uint8Array][] {
  return Object.entries(metadata).sort(([one], [other]) => (one < other ? -1 : 1));
}

/** The reader returns a part of the decrypted buffer, which would stay in memory with it. */
const copyOf = (bytes: Uint8Array) => Uint8Array.from(bytes);
