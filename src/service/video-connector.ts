import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { TellHost } from './download-rules';
import { whyNotPublic } from './public-address';
import { ServiceFault } from './service-fault';

export interface VideoConnectorOptions {
  /** Milliseconds. */
  timeout: number;
  mayBePrivate: (hostname: string) => boolean;
  tellHost: TellHost;
  lookup?: LookupFunction;
}

/**
 * Connects to public addresses alone, but for the hosts that may be private. A link is the word of somebody else: it
 * must not make a worker ask its own network. A name is judged by what it resolves to for this very connection,
 * because the next answer of its DNS may be another.
 */
export function createVideoConnector({
  timeout,
  mayBePrivate,
  tellHost,
  lookup = systemLookup,
}: VideoConnectorOptions): buildConnector.connector {
  const check: CheckAddress = (address, hostname) => refusalOf(address, hostname, tellHost);
  const connectAnywhere = buildConnector({ timeout, lookup });
  const connectInPublic = buildConnector({ timeout, lookup: checkedLookup(lookup, check) });
  return (options, callback) => {
    const { hostname } = options;
    if (mayBePrivate(hostname)) return connectAnywhere(options, callback);
    // Node looks no address up that is one already.
    const refused = isIP(hostname) === 0 ? undefined : check(hostname, hostname);
    if (refused === undefined) return connectInPublic(options, callback);
    queueMicrotask(() => callback(refused, null));
  };
}

type CheckAddress = (address: string, hostname: string) => Error | undefined;

/**
 * Hands on what it has checked and nothing else. One bad address refuses the name with all its addresses: whoever
 * mixes them in may mean the one that is tried when the good one does not answer.
 */
export function checkedLookup(lookup: LookupFunction, check: CheckAddress): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const addresses = asList(found);
      const refused = addresses.map(({ address }) => check(address, hostname)).find(Boolean);
      if (refused) callback(refused, []);
      else if (options.all) callback(null, addresses);
      else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
    });
  };
}

function asList(found: string | LookupAddress[]): LookupAddress[] {
  return typeof found === 'string' ? [{ address: found, family: isIP(found) }] : found;
}

function refusalOf(address: string, hostname: string, tellHost: TellHost): ServiceFault | undefined {
  const kind = whyNotPublic(address);
  if (kind === undefined) return undefined;
  const place = address === hostname ? address : `${address} (${tellHost(hostname)})`;
  return new ServiceFault('not-allowed', {
    message: `the link leads to ${place}, a ${kind} address: add the host to VIDEOGEN_DOWNLOAD_ALLOW if videos are really there`,
  });
}
