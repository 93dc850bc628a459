import type { RefusedContent } from '../../src/contract/failure-details';
import { builtInProfile, type ServiceProfile } from '../../src/service';

/** An answer that refuses content, as the sources in docs/refused-content.md describe it, and what is read from it. */
interface RefusedAnswer {
  body: object;
  /** 200 unless set. */
  status?: number;
  /** Set in the answer to a submit. */
  request?: { prompt: string; image_url?: string };
  refused: RefusedContent;
  /** The telling code, where there is one. */
  code?: string;
}

interface Service {
  name: string;
  profile?: ServiceProfile | undefined;
  /** Empty for a service of which no such answer was found. */
  answers: RefusedAnswer[];
}

const PROMPT: RefusedContent = { stage: 'prompt', field: 'prompt' };
const IMAGE: RefusedContent = { stage: 'image', field: 'image_url' };
const OUTPUT: RefusedContent = { stage: 'output' };
const text = { prompt: 'A red fox' };
const image = { ...text, image_url: 'https://example.com/fox.png' };

const failed = (error: object) => ({ id: 't', status: 'failed', error });
const runway = (failureCode: string) => ({ id: 't', status: 'FAILED', failure: 'No.', failureCode });
const fal = (field: string) => ({
  detail: [{ loc: ['body', field], msg: 'No.', type: 'content_policy_violation' }],
});
const dashscope = (message: string) => ({
  output: { task_id: 't', task_status: 'FAILED', code: 'DataInspectionFailed', message },
});
const minimax = (status_code: number) => ({
  task_id: 't',
  status: 'Fail',
  base_resp: { status_code, status_msg: 'No.' },
});

export const SERVICES: Service[] = [
  {
    name: 'BytePlus Ark (Seedance)',
    answers: [
      {
        body: { error: { code: 'InputTextSensitiveContentDetected', message: 'No.' } },
        status: 400,
        request: image,
        refused: PROMPT,
        code: 'InputTextSensitiveContentDetected',
      },
      {
        body: { error: { code: 'InputImageSensitiveContentDetected.PrivacyInformation', message: 'No.' } },
        status: 400,
        request: image,
        refused: IMAGE,
        code: 'InputImageSensitiveContentDetected.PrivacyInformation',
      },
      {
        body: { error: { code: 'InputImageRiskDetection', message: 'No.' } },
        status: 400,
        request: image,
        refused: IMAGE,
        code: 'InputImageRiskDetection',
      },
      {
        body: failed({ code: 'OutputVideoSensitiveContentDetected.PolicyViolation', message: 'No.' }),
        refused: OUTPUT,
        code: 'OutputVideoSensitiveContentDetected.PolicyViolation',
      },
    ],
  },
  {
    name: 'Runway',
    profile: builtInProfile('runway'),
    answers: [
      { body: runway('SAFETY.INPUT.TEXT'), refused: { ...PROMPT, charged: true }, code: 'SAFETY.INPUT.TEXT' },
      {
        body: runway('SAFETY.INPUT.IMAGE'),
        refused: { ...IMAGE, charged: true },
        code: 'SAFETY.INPUT.IMAGE',
      },
      {
        body: runway('SAFETY.OUTPUT.VIDEO'),
        refused: { ...OUTPUT, charged: true },
        code: 'SAFETY.OUTPUT.VIDEO',
      },
    ],
  },
  {
    name: 'fal',
    answers: [
      { body: fal('prompt'), status: 422, refused: PROMPT, code: 'content_policy_violation' },
      { body: fal('image_url'), status: 422, refused: IMAGE, code: 'content_policy_violation' },
    ],
  },
  {
    name: 'Replicate',
    answers: [
      {
        body: { id: 't', status: 'failed', error: 'The input or output was flagged as sensitive. (E005)' },
        refused: {},
      },
    ],
  },
  {
    name: 'OpenAI videos',
    answers: [
      {
        body: failed({ code: 'moderation_blocked', message: 'blocked by our moderation system' }),
        refused: {},
        code: 'moderation_blocked',
      },
      {
        body: {
          error: {
            code: 'moderation_blocked',
            message: 'No.',
            moderation_details: { moderation_stage: 'output' },
          },
        },
        status: 400,
        request: text,
        refused: OUTPUT,
        code: 'moderation_blocked',
      },
    ],
  },
  {
    name: 'Google Veo',
    answers: [
      {
        body: {
          name: 't',
          done: true,
          response: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['58061214'] },
        },
        refused: OUTPUT,
      },
      {
        body: {
          name: 't',
          done: true,
          response: { generateVideoResponse: { raiMediaFilteredCount: 1 } },
        },
        refused: OUTPUT,
      },
    ],
  },
  {
    name: 'Luma',
    answers: [
      {
        body: {
          id: 't',
          state: 'failed',
          failure_reason: '400: prompt not allowed because advanced moderation failed',
        },
        refused: PROMPT,
      },
    ],
  },
  {
    name: 'Kling',
    profile: builtInProfile('kling'),
    answers: [
      { body: { code: 1301, message: 'No.', request_id: 'r' }, status: 400, request: image, refused: {} },
      { body: { code: 1301, message: 'No.', request_id: 'r' }, request: text, refused: PROMPT },
    ],
  },
  {
    name: 'MiniMax v1',
    profile: builtInProfile('minimax'),
    answers: [
      { body: { base_resp: { status_code: 1026, status_msg: 'No.' } }, request: text, refused: PROMPT },
      { body: minimax(1026), refused: {} },
      { body: minimax(1027), refused: OUTPUT },
    ],
  },
  {
    // Only where its errors are was found, and that the codes are words.
    name: 'MiniMax v2',
    answers: [
      {
        body: {
          task: { id: 't', status: 'failed', error: { code: 'content_policy_violation', message: 'No.' } },
        },
        refused: {},
        code: 'content_policy_violation',
      },
    ],
  },
  {
    name: 'Vidu',
    answers: [
      {
        body: { code: 400, reason: 'TaskPromptPolicyViolation', message: 'No.', metadata: {} },
        status: 400,
        request: image,
        refused: PROMPT,
        code: 'TaskPromptPolicyViolation',
      },
      {
        body: { id: 't', state: 'failed', err_code: 'AuditSubmitIllegal', creations: [] },
        refused: {},
        code: 'AuditSubmitIllegal',
      },
      {
        body: { id: 't', state: 'failed', err_code: 'CreationPolicyViolation', creations: [] },
        refused: OUTPUT,
        code: 'CreationPolicyViolation',
      },
    ],
  },
  {
    name: 'DashScope',
    answers: [
      {
        body: dashscope('Input data may contain inappropriate content.'),
        refused: {},
        code: 'DataInspectionFailed',
      },
      {
        body: dashscope('Output data may contain inappropriate content.'),
        refused: OUTPUT,
        code: 'DataInspectionFailed',
      },
    ],
  },
  {
    name: 'xAI',
    answers: [{ body: { status: 'done', video: { url: '', respect_moderation: false } }, refused: OUTPUT }],
  },
  {
    name: 'WaveSpeed',
    profile: builtInProfile('wavespeed'),
    answers: [
      {
        body: {
          code: 200,
          message: 'success',
          data: { id: 't', status: 'failed', code: 1200, error: 'No.' },
        },
        refused: {},
      },
      {
        body: { data: { id: 't', status: 'completed', outputs: [], has_nsfw_contents: [true] } },
        refused: OUTPUT,
      },
    ],
  },
  {
    name: 'Kie',
    answers: [
      {
        body: {
          code: 200,
          data: { taskId: 't', state: 'fail', failCode: '500', failMsg: 'flagged by the safety system' },
        },
        refused: {},
      },
    ],
  },
  {
    name: 'PixVerse',
    profile: builtInProfile('pixverse'),
    answers: [{ body: { ErrCode: 0, ErrMsg: 'success', Resp: { id: 1, status: 7 } }, refused: {} }],
  },
  {
    name: 'new-api gateways',
    answers: [
      {
        body: { error: { code: 'sensitive_words_detected', message: 'No.' } },
        status: 400,
        request: image,
        refused: PROMPT,
        code: 'sensitive_words_detected',
      },
    ],
  },
  {
    name: 'Evolink',
    answers: [
      {
        body: failed({ code: 'content_policy_violation', message: 'No.' }),
        refused: {},
        code: 'content_policy_violation',
      },
    ],
  },
  {
    name: 'Higgsfield',
    profile: builtInProfile('higgsfield'),
    answers: [{ body: { request_id: 't', status: 'nsfw' }, refused: { charged: false } }],
  },
  { name: 'Inworld', answers: [] },
];
