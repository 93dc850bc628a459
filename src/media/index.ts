export { describeHead } from './describe-head';
export { PassingVideo } from './passing-video';
export { type Colour, LUMA_SIDE, Picture } from './picture';
export type { VideoLook } from './read-facts';
export { CONTAINERS, HEAD_TO_SNIFF, sniffContainer } from './sniff-container';
export { type Film, writeMp4 } from './write-mp4';
