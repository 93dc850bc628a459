export type { VideoInspection } from './inspect-video';
export { PassingVideo } from './passing-video';
export { type Colour, LUMA_SIDE, Picture } from './picture';
export { CONTAINERS, describeHead, HEAD_TO_SNIFF, sniffContainer } from './sniff-container';
