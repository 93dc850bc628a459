/** Loads the monitor of workers. A worker without one does without its modules. */
export const loadMonitor = (): typeof import('./worker-monitor') => require('./worker-monitor');
