export { type Colour, LUMA_SIDE, Picture } from './picture';
export { type ProbedVideo, probeVideo } from './probe-video';
export { type Film, writeMp4 } from './write-mp4';
