import type { PayloadCodec } from '@temporalio/common';
import { encryptedDataConverter } from '../../src/client/connect';
import { readEncryptionKeys } from '../../src/config/operation-config';
import { EncryptionCodec } from '../../src/encryption/encryption-codec';
import { makeEncryptionKey } from '../../src/encryption/key-ring';
import { encryptedWorker } from '../../src/worker/encrypt-worker';
import { VideoPlugin } from '../../src/worker/video-plugin';

const env = { VIDEOGEN_ENCRYPTION_KEYS: makeEncryptionKey('2026-11') };
const codec: PayloadCodec = { encode: async (payloads) => payloads, decode: async (payloads) => payloads };
const host = { payloadConverterPath: '/host/payloads', payloadCodecs: [codec] };
const OURS = expect.any(EncryptionCodec);
const OUR_FAILURES = expect.stringContaining('failure-converter');

test('a plugin that is not asked to encrypt leaves the data converter of the host alone, although there are keys', () => {
  const plugin = new VideoPlugin({ env });
  expect(plugin.configureClient({ dataConverter: host }).dataConverter).toEqual(host);
  expect(plugin.configureBundler({ workflowsPath: '/host' }).failureConverterPath).toBeUndefined();
});

test('one that is asked to adds its codec behind those of the host, once, and its failure converter', () => {
  const plugin = new VideoPlugin({ env, encryption: true });
  const configured = plugin.configureClient({ dataConverter: host });
  const expected = { ...host, payloadCodecs: [codec, OURS], failureConverterPath: OUR_FAILURES };
  expect(configured.dataConverter).toEqual(expected);
  expect(plugin.configureClient(configured).dataConverter).toEqual(expected);
  expect(plugin.configureBundler({ workflowsPath: '/host' }).failureConverterPath).toEqual(OUR_FAILURES);
});

test('a failure converter of the host stays', () => {
  const own = { ...host, failureConverterPath: '/host/failures' };
  expect(encryptedDataConverter({ env, dataConverter: own })).toMatchObject({
    failureConverterPath: '/host/failures',
  });
  const plugin = new VideoPlugin({ env, encryption: true });
  const bundled = plugin.configureBundler({ workflowsPath: '/host', failureConverterPath: '/host/failures' });
  expect(bundled.failureConverterPath).toBe('/host/failures');
});

test('without keys there is nothing to encrypt with, which is said', () => {
  expect(() => encryptedDataConverter({ env: {} })).toThrow(/^There are no keys to encrypt with: set /);
  expect(() => new VideoPlugin({ env: {}, encryption: true }).configureClient({})).toThrow(
    /^The plugin is to encrypt, and there are no keys: /,
  );
});

test('a bundle that would write messages of failures in the open is refused', () => {
  const ring = readEncryptionKeys(env);
  const workflowBundle = { code: 'exports = {}' };
  expect(() => encryptedWorker({ workflowBundle }, { ring })).toThrow(
    /^The workflowBundle would write the messages /,
  );
  const own = { failureConverterPath: '/host/failures' };
  expect(() => encryptedWorker({ workflowBundle, dataConverter: own }, { ring })).not.toThrow();
  expect(() => encryptedWorker({ workflowBundle }, { ring: undefined })).not.toThrow();
});
