/** How a failure is told apart, for workflows of a host's too: nothing here needs more than their sandbox has. */
export { FAILURES, type FailureRow, type FailureType, isFailureType } from './contract/failure-table';
export { type FailureDetails, isVideoFailure, readFailure, VideoFailure } from './contract/failures';
