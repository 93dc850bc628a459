/** The workflows of somebody who does without the plugin: their own, and ours among them. */
export * from '../../workflows';
export { makeTrailer } from './host-workflows';
