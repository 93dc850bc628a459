export type { AnswerReading, Said, VideoState } from './read-answer';
export { type FaultFacts, type FaultKind, ServiceFault } from './service-fault';
export {
  createVideoService,
  type ServiceTimeouts,
  type TaskReading,
  type VideoBody,
  type VideoService,
  type VideoServiceOptions,
} from './video-service';
