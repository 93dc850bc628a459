export { type DevServer, type DevServerOptions, endServersOn, PortInUse, startDevServer } from './dev-server';
export {
  findDevServer,
  findServerAtHand,
  findTestServer,
  SearchStopped,
  type ServerAtHand,
  type ServerOptions,
  ServerUnavailable,
} from './find-server';
export { freePort } from './loopback-port';
