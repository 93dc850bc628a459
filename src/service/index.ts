export { type CallOutcome, type Entry, RateGate, type RateGateOptions } from './rate-gate';
export type { AnswerReading, Said, VideoState } from './read-answer';
export { type FaultFacts, type FaultKind, ServiceFault } from './service-fault';
export {
  type CancelAnswer,
  createVideoService,
  type ServiceProfile,
  type ServiceTimeouts,
  type TaskReading,
  type VideoBody,
  type VideoService,
  type VideoServiceOptions,
} from './video-service';
