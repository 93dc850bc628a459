export { type DevServer, type DevServerOptions, PortInUse, startDevServer } from './dev-server';
export {
  findDevServer,
  findServerAtHand,
  findTestServer,
  SearchStopped,
  type ServerOptions,
  ServerUnavailable,
} from './find-server';
export { freePort } from './loopback-port';
