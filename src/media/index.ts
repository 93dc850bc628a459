export type { VideoInspection } from './inspect-video';
export { endInspector, inspectFile } from './inspector';
export { type Colour, LUMA_SIDE, Picture } from './picture';
export { CONTAINERS, describeHead, HEAD_TO_SNIFF, sniffContainer } from './sniff-container';
