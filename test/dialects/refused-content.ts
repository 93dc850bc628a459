import type { ContentStage } from '../../src/contract/failure-details';
import type { DialectName } from './index';

/**
 * How a service words a refusal by its content policy. `at`: the submit is refused, or its task fails later. `withheld`: the
 * task succeeds and its answer marks the video as withheld.
 */
export interface ContentWords {
  at: 'submit' | 'task' | 'withheld';
  code: string;
  message: string;
}

type Words = Record<ContentStage, ContentWords>;

const POLICY = {
  prompt: 'the prompt violates the content policy',
  image: 'the image violates the content policy',
  output: 'the generated video was blocked by the content policy',
};

/** A service that refuses inputs at once and videos at their end, with one code for all. */
const usual = (code: string, message: Record<ContentStage, string> = POLICY): Words => ({
  prompt: { at: 'submit', code, message: message.prompt },
  image: { at: 'submit', code, message: message.image },
  output: { at: 'task', code, message: message.output },
});

/** A service that accepts every submit and refuses by its task. */
const byTask = (
  codes: Record<ContentStage, string>,
  message: Record<ContentStage, string> = POLICY,
): Words => ({
  prompt: { at: 'task', code: codes.prompt, message: message.prompt },
  image: { at: 'task', code: codes.image, message: message.image },
  output: { at: 'task', code: codes.output, message: message.output },
});

const one = (text: string) => ({ prompt: text, image: text, output: text });

/** `test/support/refused-answers.ts` says where the codes come from. The sentences are ours unless they are one phrase of the service's. */
export const CONTENT_WORDS: Record<DialectName, Words> = {
  default: usual('content_policy_violation'),
  ark: {
    prompt: {
      at: 'submit',
      code: 'InputTextSensitiveContentDetected',
      message: 'the input text may contain sensitive information',
    },
    image: {
      at: 'submit',
      code: 'InputImageSensitiveContentDetected.PrivacyInformation',
      message: 'the input image may contain real person',
    },
    output: {
      at: 'task',
      code: 'OutputVideoSensitiveContentDetected',
      message: 'the output video may contain sensitive information',
    },
  },
  runway: byTask({ prompt: 'SAFETY.INPUT.TEXT', image: 'SAFETY.INPUT.IMAGE', output: 'SAFETY.OUTPUT.VIDEO' }),
  fal: {
    prompt: {
      at: 'task',
      code: 'content_policy_violation',
      message: 'the content was flagged by a content checker',
    },
    image: {
      at: 'task',
      code: 'content_policy_violation',
      message: 'the images provided may contain likenesses of real people',
    },
    output: { at: 'withheld', code: 'content_policy_violation', message: POLICY.output },
  },
  replicate: byTask(one(''), {
    prompt: 'the input or output was flagged as sensitive (E005)',
    image: 'the input or output was flagged as sensitive (E005)',
    output: 'NSFW content detected in the output video',
  }),
  openai: {
    prompt: { at: 'task', code: 'moderation_blocked', message: 'blocked by our moderation system' },
    image: {
      at: 'submit',
      code: 'moderation_blocked',
      message: 'the input image may contain content that is not allowed by our safety system',
    },
    output: { at: 'task', code: 'moderation_blocked', message: 'blocked by our moderation system' },
  },
  veo: {
    prompt: { at: 'submit', code: 'INVALID_ARGUMENT', message: 'the prompt violates the usage guidelines' },
    image: { at: 'task', code: 'INVALID_ARGUMENT', message: 'the input image violates the usage guidelines' },
    output: { at: 'withheld', code: 'rai', message: '58061214: the video was filtered' },
  },
  luma: {
    prompt: { at: 'task', code: '', message: '400: prompt not allowed because advanced moderation failed' },
    image: { at: 'task', code: '', message: 'Advanced moderation failed' },
    output: { at: 'task', code: '', message: 'the generated video was rejected by moderation' },
  },
  kling: {
    prompt: { at: 'submit', code: '1301', message: 'failure to pass the risk control system' },
    image: { at: 'submit', code: '1301', message: 'failure to pass the risk control system' },
    output: { at: 'task', code: '1301', message: 'the output video did not pass the content policy' },
  },
  minimax: {
    prompt: { at: 'submit', code: '1026', message: 'the prompt contains sensitive content' },
    image: { at: 'submit', code: '1026', message: 'the image contains sensitive content' },
    output: { at: 'task', code: '1027', message: 'the output video contains sensitive content' },
  },
  'minimax-v2': usual('content_policy_violation'),
  vidu: {
    prompt: { at: 'submit', code: 'TaskPromptPolicyViolation', message: 'the prompt was refused' },
    image: { at: 'submit', code: 'AuditSubmitIllegal', message: 'the image was refused' },
    output: { at: 'task', code: 'CreationPolicyViolation', message: '' },
  },
  dashscope: {
    prompt: {
      at: 'submit',
      code: 'DataInspectionFailed',
      message: 'Input data may contain inappropriate content.',
    },
    image: {
      at: 'submit',
      code: 'DataInspectionFailed',
      message: 'Input data may contain inappropriate content.',
    },
    output: {
      at: 'task',
      code: 'DataInspectionFailed',
      message: 'Output data may contain inappropriate content.',
    },
  },
  xai: {
    prompt: { at: 'submit', code: 'invalid-argument', message: POLICY.prompt },
    image: { at: 'submit', code: 'invalid-argument', message: POLICY.image },
    output: { at: 'withheld', code: 'respect_moderation', message: '' },
  },
  wavespeed: byTask(one('1200'), one('the content contains sensitive information')),
  kie: byTask(one('500'), {
    prompt: 'the prompt was flagged by the safety system',
    image: 'the image was flagged by the safety system',
    output: 'the input or output was flagged as sensitive',
  }),
  pixverse: byTask(one('moderated')),
  'new-api': {
    prompt: { at: 'submit', code: 'sensitive_words_detected', message: 'sensitive words detected' },
    image: {
      at: 'task',
      code: 'upstream_error',
      message: 'InputImageSensitiveContentDetected the input image may contain sensitive information',
    },
    output: { at: 'task', code: 'upstream_error', message: 'output video may contain sensitive information' },
  },
  evolink: byTask(one('content_policy_violation')),
  higgsfield: byTask(one('nsfw')),
  inworld: usual('3'),
};
