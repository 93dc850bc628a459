/** Recognizing failures. Your own workflows may import it: it needs nothing that the workflow sandbox does not have. */
export { FAILURES, type FailureRow, type FailureType, isFailureType } from './contract/failure-table';
export { type FailureDetails, isVideoFailure, readFailure, VideoFailure } from './contract/video-failure';
