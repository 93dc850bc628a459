export { FFMPEG_LIMITS, FfmpegFailed, type FfmpegLimits, runFfmpeg } from './ffmpeg';
export { type Frame, type FrameTools, firstFrame, type LocalVideo, lastFrame } from './frames';
export type { VideoInspection } from './inspect-video';
export { PassingVideo } from './passing-video';
export { type Colour, LUMA_SIDE, Picture } from './picture';
export { CONTAINERS, describeHead, HEAD_TO_SNIFF, sniffContainer } from './sniff-container';
