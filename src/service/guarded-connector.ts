import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, isIPv6, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { type AddressKind, whyNotPublic } from './public-address';
import { ServiceFault } from './service-fault';

/** Whether a host is one of these, by name or IP address. */
export function hostMatcher(hosts: readonly string[]): (hostname: string) => boolean {
  const known = new Set(hosts.map(normalizeHost));
  return (hostname) => known.has(normalizeHost(hostname));
}

/** One spelling for each host: IPv6 addresses have many, with brackets and without. */
function normalizeHost(host: string): string {
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return isIPv6(bare) && !bare.includes('%') ? new URL(`http://[${bare}]`).hostname : bare;
}

export interface GuardedConnectorOptions {
  /** Milliseconds. */
  timeout: number;
  mayBePrivate: (hostname: string) => boolean;
  /** The message for an address that is refused. `callService` redacts it. */
  describe: (target: string, kind: AddressKind) => string;
  lookup?: LookupFunction;
}

/**
 * Connects only to public addresses, except for hosts that may be private: an address from outside must not make a worker
 * send requests into its own network. It is checked for each connection, because the next DNS answer for the same name
 * may differ.
 */
export function createGuardedConnector({
  timeout,
  mayBePrivate,
  describe,
  lookup = systemLookup,
}: GuardedConnectorOptions): buildConnector.connector {
  const check: CheckAddress = (address, hostname) => {
    const kind = whyNotPublic(address);
    if (kind === undefined) return undefined;
    const target = address === hostname ? address : `${address} (${hostname})`;
    return new ServiceFault('not-allowed', { message: describe(target, kind) });
  };
  const connectAnywhere = buildConnector({ timeout, lookup });
  const connectInPublic = buildConnector({ timeout, lookup: checkedLookup(lookup, check) });
  return (options, callback) => {
    const { hostname } = options;
    if (mayBePrivate(hostname)) return connectAnywhere(options, callback);
    // Node does no lookup for a host that is an IP address.
    const refused = isIP(hostname) === 0 ? undefined : check(hostname, hostname);
    if (refused === undefined) return connectInPublic(options, callback);
    queueMicrotask(() => callback(refused, null));
  };
}

type CheckAddress = (address: string, hostname: string) => Error | undefined;

/**
 * A DNS lookup that returns only checked addresses. One bad address refuses the name with all its addresses: an attacker
 * may count on the bad one being tried when the good one does not answer.
 */
export function checkedLookup(lookup: LookupFunction, check: CheckAddress): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      // Always a list, because of `all`.
      const addresses = found as LookupAddress[];
      const refused = addresses.map(({ address }) => check(address, hostname)).find(Boolean);
      if (refused) callback(refused, []);
      else if (options.all) callback(null, addresses);
      else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
    });
  };
}
