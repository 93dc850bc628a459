export { BUILT_IN_PROFILES, builtInProfile } from './built-in-profiles';
export { parseProfile } from './parse-profile';
export { type Estimate, estimateCost, estimateJob } from './prices';
export { type Prices, profileSchema, type ServiceProfile } from './profile';
export { type AnswerSample, missingIn, type ProposedProfile, proposeProfile } from './propose-profile';
export { RateLimiter, type RateLimiterOptions } from './rate-limiter';
export { type HttpAnswer, type TracedReading, traceAnswer } from './read-answer';
export { type ReadingRules, readingRules } from './reading-rules';
export {
  recordAnswers,
  redactAnswer,
  redactBody,
} from './record-answers';
export { secretsOf } from './secrets-of-call';
export {
  createVideoService,
  type FoundService,
  type NamedService,
  type NamedServices,
  namedServicesProblem,
  RateLimiters,
  ServiceDirectory,
  type ServiceDirectoryOptions,
  servicesForClients,
} from './service-directory';
export { type FaultFacts, type FaultKind, ServiceFault } from './service-fault';
export { type OpenSpan, openSpan } from './spans';
export type { CallOutcome, Permit } from './submit-limit';
export type {
  CancelAnswer,
  OpenedVideoService,
  ResumePoint,
  ServiceAnswer,
  ServiceTimeouts,
  TaskReading,
  VideoBody,
  VideoService,
  VideoServiceOptions,
  VideoState,
} from './video-service';
export type { WebhookOptions, WebhookSender } from './webhook-sender';
export {
  isSame,
  isWebhookSecret,
  signWebhook,
  verifySignature,
  verifyWebhook,
  WEBHOOK_SECRET_RULE,
  type WebhookHeaders,
  WebhookRefused,
} from './webhook-signature';
export { idsInJobs, mapRequest } from './word-request';
