import type { RefusedContent } from '../../src/contract/failure-details';
import { builtInProfile, type ServiceProfile } from '../../src/service';

/** An answer that refuses content, as the source of its service describes it, and what is read from it. */
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
  /** Where its answers are described, looked up in November 2026. Public code: programs on GitHub that handle the answer. */
  source?: string;
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

/**
 * What else is known has these sources: docs.bfl.ai, Errors (`Request Moderated`, `Content Moderated`); Azure's JSON schema of
 * its errors (`ResponsibleAIPolicyViolation`); Baidu Qianfan docs (`unsafe_request`).
 */
export const SERVICES: Service[] = [
  {
    name: 'BytePlus Ark (Seedance)',
    source: 'the `RiskDetection` codes: Volcengine Ark, error codes (82379/1099476); the others: public code',
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
    source: 'Runway API docs, Task Failures and Content Moderation',
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
    source: 'fal docs, Model Errors; calesthio/OpenMontage, discussion 580',
    answers: [
      { body: fal('prompt'), status: 422, refused: PROMPT, code: 'content_policy_violation' },
      { body: fal('image_url'), status: 422, refused: IMAGE, code: 'content_policy_violation' },
    ],
  },
  {
    name: 'Replicate',
    source: 'pollinations/pollinations#10801',
    answers: [
      {
        body: { id: 't', status: 'failed', error: 'The input or output was flagged as sensitive. (E005)' },
        refused: {},
      },
    ],
  },
  {
    name: 'OpenAI videos',
    source: 'public code',
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
    source: 'js-genai, GenerateVideosResponse',
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
    source: 'lumalabs/ComfyUI-LumaAI-API#7; public code',
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
    source: 'Baidu Qianfan docs, error codes of video generation',
    profile: builtInProfile('kling'),
    answers: [
      { body: { code: 1301, message: 'No.', request_id: 'r' }, status: 400, request: image, refused: {} },
      { body: { code: 1301, message: 'No.', request_id: 'r' }, request: text, refused: PROMPT },
    ],
  },
  {
    name: 'MiniMax v1',
    source: 'Baidu Qianfan docs, error codes of video generation',
    profile: builtInProfile('minimax'),
    answers: [
      { body: { base_resp: { status_code: 1026, status_msg: 'No.' } }, request: text, refused: PROMPT },
      { body: minimax(1026), refused: {} },
      { body: minimax(1027), refused: OUTPUT },
    ],
  },
  {
    name: 'MiniMax v2',
    source: 'Tencent Cloud docs, 1823/138038; only where its errors are, and that the codes are words',
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
    source: 'the path of `err_code`: Tencent Cloud docs, 1823/138038; its codes: public code',
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
    source: 'Alibaba Cloud developer forum, 578425; public code',
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
    source: 'npm, @ai-sdk/xai 4.0.39',
    answers: [{ body: { status: 'done', video: { url: '', respect_moderation: false } }, refused: OUTPUT }],
  },
  {
    name: 'WaveSpeed',
    source: 'WaveSpeed docs, Error Codes; public code',
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
    source: 'public code',
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
    source: 'Tencent Cloud docs, 1823/138038',
    profile: builtInProfile('pixverse'),
    answers: [{ body: { ErrCode: 0, ErrMsg: 'success', Resp: { id: 1, status: 7 } }, refused: {} }],
  },
  {
    name: 'new-api gateways',
    source: 'public code',
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
    source: 'Evolink docs, Error Codes Reference',
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
    source: 'Higgsfield docs, Billing and retention, FAQ',
    profile: builtInProfile('higgsfield'),
    answers: [{ body: { request_id: 't', status: 'nsfw' }, refused: { charged: false } }],
  },
  { name: 'Inworld', answers: [] },
];
