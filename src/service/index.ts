export { NO_SECRETS, type Secrets } from '../contract/find-secrets';
export { redact } from '../contract/redact';
export { BUILT_IN_PROFILES, type BuiltInProfile, builtInProfile } from './built-in-profiles';
export type { AnswerTimeouts } from './call-service';
export {
  type KeepAnswersOptions,
  keepAnswers,
  type RecordedAnswer,
  redactAnswer,
  redactBody,
} from './keep-answers';
export type { OpenVideoOptions, VideoBody } from './open-video';
export { parseProfile, profileSchema, readingRules, type ServiceProfile } from './profile';
export { type KeptAnswer, type ProposedProfile, proposeProfile, together } from './propose-profile';
export { type CallOutcome, type Entry, RateGate, type RateGateOptions } from './rate-gate';
export {
  type AnswerReading,
  type HttpAnswer,
  type ReadingRules,
  type Said,
  type TracedReading,
  traceAnswer,
  type VideoState,
} from './read-answer';
export { secretsOf } from './secrets-of-call';
export { type FaultFacts, type FaultKind, ServiceFault } from './service-fault';
export type { ResumePoint } from './video-range';
export {
  type CancelAnswer,
  createVideoService,
  type ServiceAnswer,
  type ServiceTimeouts,
  type TaskReading,
  type VideoService,
  type VideoServiceOptions,
} from './video-service';
