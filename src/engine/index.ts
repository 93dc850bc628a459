export { type DevServer, type DevServerOptions, PortInUse, startDevServer } from './dev-server';
export { EngineUnavailable } from './engine-unavailable';
export { type EngineOptions, findDevServer, findTestServer } from './find-engine';
export { endServersOn } from './orphan-servers';
export { isAlive, isDead, ProcessLock, SILENT_AFTER_MS } from './process-lock';
