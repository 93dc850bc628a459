import type { DataConverter, LoadedDataConverter } from '@temporalio/common';
import { EncryptionCodec, type EncryptionCodecOptions, isEncryptionCodec } from './encryption-codec';

/** The module that workers, clients and the workflow bundle load. */
export const FAILURE_CONVERTER_PATH = require.resolve('./failure-converter');

/**
 * Adds encryption to the data converter of a host, or to the SDK's own. Its codecs encode first, so that a codec that compresses
 * gets what can be compressed. A failure converter of the host stays: then it decides what of a failure is hidden.
 */
export function withEncryption(
  host: DataConverter | undefined,
  options: EncryptionCodecOptions,
): DataConverter {
  const { payloadCodecs = [] } = host ?? {};
  if (payloadCodecs.some(isEncryptionCodec)) return { ...host };
  return {
    ...host,
    payloadCodecs: [...payloadCodecs, new EncryptionCodec(options)],
    ...(options.ring && { failureConverterPath: host?.failureConverterPath ?? FAILURE_CONVERTER_PATH }),
  };
}

/** Whether a client or a worker encrypts with our codec. */
export function encrypts({
  payloadCodecs = [],
}: Pick<Partial<LoadedDataConverter>, 'payloadCodecs'>): boolean {
  return payloadCodecs.some((codec) => isEncryptionCodec(codec) && codec.encrypts);
}
