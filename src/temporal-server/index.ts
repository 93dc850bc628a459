export { type DevServer, type DevServerOptions, PortInUse, startDevServer } from './dev-server';
export { findDevServer, findTestServer, type ServerOptions } from './find-server';
export { SearchStopped } from './first-that-works';
export { freePort } from './loopback-port';
export { endServersOn } from './orphan-servers';
export { isAlive, isDead, ProcessLock, SILENT_AFTER_MS } from './process-lock';
export { ServerUnavailable } from './server-unavailable';
