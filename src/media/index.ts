export type { VideoInspection } from './inspect-video';
export { endInspector, inspectFile } from './inspector';
export { CONTAINERS, describeHead, HEAD_TO_SNIFF, sniffContainer } from './sniff-container';
