const { createHash, randomUUID } = require('node:crypto');
const { readFile, rename, writeFile } = require('node:fs/promises');
const { join } = require('node:path');
const common = require('@temporalio/common');
const { temporal } = require('@temporalio/proto');

const { Payload } = temporal.api.common.v1;

/** Keeps payloads in the folder that all processes of a run share. */
const driver = {
  name: 'folder',
  type: 'videogen.test.folder',
  store: (_context, payloads) =>
    Promise.all(
      payloads.map(async (payload) => {
        const bytes = Payload.encode(payload).finish();
        const name = createHash('sha256').update(bytes).digest('hex');
        const file = join(process.env.VIDEOGEN_TEST_EXTERNAL, name);
        // Whole or not at all: others may store and read the same payload at the same time.
        const part = `${file}.${randomUUID()}`;
        await writeFile(part, bytes);
        await rename(part, file);
        return new common.StorageDriverClaim({ name });
      }),
    ),
  retrieve: (_context, claims) =>
    Promise.all(
      claims.map(async ({ claimData }) =>
        Payload.decode(await readFile(join(process.env.VIDEOGEN_TEST_EXTERNAL, claimData.name))),
      ),
    ),
};

let shared;

/** One for a process: the SDK registers drivers by their names. */
exports.externalStorage = () => {
  shared ??= new common.ExternalStorage({ drivers: [driver], payloadSizeThreshold: 0 });
  return shared;
};
