/** The workflows of a host without the plugin: its own, and ours re-exported. */
export * from '../../workflows';
export { makeTrailer } from './host-workflows';
