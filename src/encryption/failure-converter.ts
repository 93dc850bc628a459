import { DefaultFailureConverter } from '@temporalio/common';
import { isNotDecryptedType } from './not-decrypted';

type Failure = ReturnType<DefaultFailureConverter['errorToFailure']>;
type Arguments = Parameters<DefaultFailureConverter['errorToFailure']>;

export const CONVERTER_NAME = 'the failure converter of temporal-videogen';

/** Stands in the open instead of a message, as in all of Temporal's SDKs. */
const HIDDEN = 'Encoded failure';

/**
 * Moves message and stack trace of each failure into a payload, which the codec encrypts. The type stays in the open: Temporal
 * decides by it what is retried. This module is part of the workflow bundle.
 *
 * The SDK's own converter with `encodeCommonAttributes` writes into the failure that an error came with, and loses the message
 * when such an error is converted twice.
 */
class EncodingFailureConverter extends DefaultFailureConverter {
  /** By this a bundle of workflows is found to have it: a minifier leaves it. */
  readonly name = CONVERTER_NAME;

  override errorToFailure(...[error, payloadConverter, context]: Arguments): Failure {
    const failure = super.errorToFailure(error, payloadConverter, context);
    // It says which key is missing to those who do not have it.
    if (isNotDecryptedType(failure.applicationFailureInfo?.type)) return failure;
    const { message, stackTrace } = failure;
    return {
      ...failure,
      message: HIDDEN,
      stackTrace: '',
      encodedAttributes: payloadConverter.toPayload({ message, stack_trace: stackTrace }, context),
    };
  }
}

/** By this name the SDK finds it. */
export const failureConverter = new EncodingFailureConverter();
