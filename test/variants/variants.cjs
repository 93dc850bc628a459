// The settings of other people under which the server tests must pass as well: see `npm run test:variants`.
const { join } = require('node:path');

const HOST_CONVERTERS = join(__dirname, 'host-converters.cjs');
/** A key of no worth. */
const KEY = `variant:${Buffer.alloc(32, 7).toString('base64')}`;

/**
 * `dataConverter` changes the data converter that each client and worker was given; `worker` adds options to each worker. Both
 * are called with the SDK loaded. A variant with paths of converters gets a bundle of the workflows of its own.
 */
module.exports = {
  codec: {
    what: 'every payload and failure is encrypted',
    dataConverter(given) {
      const { withEncryption } = require('../../dist/src/encryption/data-converter');
      const { parseKeyRing } = require('../../dist/src/encryption/key-ring');
      // Our own clients and workers have the codec already, without keys, unless the test gave them some.
      const others = (given.payloadCodecs ?? []).filter((codec) => codec.encrypts !== false);
      return withEncryption({ ...given, payloadCodecs: others }, { ring: parseKeyRing(KEY).ring });
    },
  },
  'no-cache': {
    what: 'workers keep no workflow in memory (maxCachedWorkflows: 0)',
    worker: () => ({ maxCachedWorkflows: 0 }),
  },
  'host-converter': {
    what: 'a data converter of the host: payloads, codec and failures',
    dataConverter: (given) => ({
      ...given,
      payloadConverterPath: HOST_CONVERTERS,
      failureConverterPath: given.failureConverterPath ?? HOST_CONVERTERS,
      payloadCodecs: [require('./host-codec.cjs').hostCodec, ...(given.payloadCodecs ?? [])],
    }),
  },
  'external-storage': {
    what: "Temporal's external storage, with a threshold of 0 bytes",
    dataConverter: (given) => ({ ...given, externalStorage: require('./file-driver.cjs').externalStorage() }),
  },
};
