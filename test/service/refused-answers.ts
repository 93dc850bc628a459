import type { RefusedContent } from '../../src/contract/failure-details';
import { builtInProfile, type ServiceProfile } from '../../src/service';

/** An answer that refuses content, as the source of its service describes it, and what is read from it. */
interface RefusedAnswer {
  body: object;
  /** 200 unless set. */
  status?: number;
  /** Set in the answer to a submit. */
  request?: { prompt: string; image_url?: string };
  /** With the telling code, where there is one. */
  refused: RefusedContent & { code?: string };
}

interface Service {
  name: string;
  /** Where its answers are described, looked up in November 2026. Public code: programs on GitHub that handle the answer. */
  source?: string;
  profile?: ServiceProfile | undefined;
  answers: RefusedAnswer[];
}

const PROMPT: RefusedContent = { stage: 'prompt', field: 'prompt' };
const IMAGE: RefusedContent = { stage: 'image', field: 'image_url' };
const OUTPUT: RefusedContent = { stage: 'output' };
const text = { prompt: 'A red fox' };
const image = { ...text, image_url: 'https://example.com/fox.png' };

const failed = (error: object) => ({ id: 't', status: 'failed', error });
/** The answer to a submit with this code at the most usual place. */
const refusing = (code: string, refused: RefusedContent): RefusedAnswer => ({
  body: { error: { code, message: 'No.' } },
  status: 400,
  request: image,
  refused: { ...refused, code },
});
const runway = (failureCode: string, refused: RefusedContent): RefusedAnswer => ({
  body: { id: 't', status: 'FAILED', failure: 'No.', failureCode },
  refused: { ...refused, charged: true, code: failureCode },
});
const fal = (field: string, refused: RefusedContent): RefusedAnswer => ({
  body: { detail: [{ loc: ['body', field, 0], msg: 'No.', type: 'content_policy_violation' }] },
  status: 422,
  refused: { ...refused, code: 'content_policy_violation' },
});
const vidu = (err_code: string, refused: RefusedContent): RefusedAnswer => ({
  body: { id: 't', state: 'failed', err_code, creations: [] },
  refused: { ...refused, code: err_code },
});
const dashscope = (message: string, refused: RefusedContent): RefusedAnswer => ({
  body: { output: { task_id: 't', task_status: 'FAILED', code: 'DataInspectionFailed', message } },
  refused: { ...refused, code: 'DataInspectionFailed' },
});
const minimax = (status_code: number) => ({
  task_id: 't',
  status: 'Fail',
  base_resp: { status_code, status_msg: 'No.' },
});

/**
 * What else is known has these sources: docs.bfl.ai, Errors (`Request Moderated`, `Content Moderated`); Azure's JSON schema of
 * its errors (`ResponsibleAIPolicyViolation`); Baidu Qianfan docs (`unsafe_request`); Evolink docs, Error Codes Reference
 * (`content_policy_violation`).
 */
export const SERVICES: Service[] = [
  {
    name: 'BytePlus Ark (Seedance)',
    source: 'the `RiskDetection` codes: Volcengine Ark, error codes (82379/1099476); the others: public code',
    answers: [
      refusing('InputTextSensitiveContentDetected', PROMPT),
      refusing('InputImageSensitiveContentDetected.PrivacyInformation', IMAGE),
      refusing('InputImageRiskDetection', IMAGE),
      {
        body: failed({ code: 'OutputVideoSensitiveContentDetected.PolicyViolation', message: 'No.' }),
        refused: { ...OUTPUT, code: 'OutputVideoSensitiveContentDetected.PolicyViolation' },
      },
    ],
  },
  {
    name: 'Runway',
    source: 'Runway API docs, Task Failures and Content Moderation',
    profile: builtInProfile('runway'),
    answers: [
      runway('SAFETY.INPUT.TEXT', PROMPT),
      runway('SAFETY.INPUT.IMAGE', IMAGE),
      runway('SAFETY.OUTPUT.VIDEO', OUTPUT),
    ],
  },
  {
    name: 'fal',
    source: 'fal docs, Model Errors; calesthio/OpenMontage, discussion 580',
    answers: [fal('prompt', PROMPT), fal('image_url', IMAGE)],
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
        refused: { code: 'moderation_blocked' },
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
        refused: { ...OUTPUT, code: 'moderation_blocked' },
      },
    ],
  },
  {
    name: 'Google Veo',
    source: 'js-genai, GenerateVideosResponse',
    answers: [
      { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['58061214'] },
      { generateVideoResponse: { raiMediaFilteredCount: 1 } },
    ].map((response) => ({ body: { name: 't', done: true, response }, refused: OUTPUT })),
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
        refused: { code: 'content_policy_violation' },
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
        refused: { ...PROMPT, code: 'TaskPromptPolicyViolation' },
      },
      vidu('AuditSubmitIllegal', {}),
      vidu('CreationPolicyViolation', OUTPUT),
    ],
  },
  {
    name: 'DashScope',
    source: 'Alibaba Cloud developer forum, 578425; public code',
    answers: [
      dashscope('Input data may contain inappropriate content.', {}),
      dashscope('Output data may contain inappropriate content.', OUTPUT),
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
    answers: [refusing('sensitive_words_detected', PROMPT)],
  },
  {
    name: 'Higgsfield',
    source: 'Higgsfield docs, Billing and retention, FAQ',
    profile: builtInProfile('higgsfield'),
    answers: [{ body: { request_id: 't', status: 'nsfw' }, refused: { charged: false } }],
  },
];
