/** Recognizing failures. Your own workflows may import it: it needs nothing that the workflow sandbox does not have. */

export type { FailureDetails } from './contract/failure-details';
export { FAILURES, type FailureRow, type FailureType, isFailureType } from './contract/failure-table';
export { isVideoFailure, readFailure, VideoFailure } from './contract/video-failure';
