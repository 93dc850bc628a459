import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, isIPv6, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { type AddressKind, whyNotPublic } from './public-address';
import { ServiceFault } from './service-fault';

/** Where videos may come from. */
export interface DownloadRules {
  /** Whether a host may have an address that is not public. */
  mayBePrivate(hostname: string): boolean;
  /** Throws a ServiceFault `not-allowed` for a link that is neither https nor allowed to be http. */
  checkScheme(link: URL): void;
}

/** Redacts the host of a link for an error message: a link may contain anything. */
export type RedactHost = (hostname: string) => string;

/** The service's own host is trusted like the service itself, and so are the hosts that the operator allows. */
export function createDownloadRules(
  base: URL,
  downloadAllow: readonly string[],
  redactHost: RedactHost,
): DownloadRules {
  const allowed = new Set(downloadAllow.map(normalizeHost));
  const own = normalizeHost(base.hostname);
  return {
    mayBePrivate: (hostname) => normalizeHost(hostname) === own || allowed.has(normalizeHost(hostname)),
    checkScheme({ protocol, hostname }) {
      if (protocol === 'https:') return;
      if (protocol === 'http:' && (base.protocol === 'http:' || allowed.has(normalizeHost(hostname)))) return;
      throw new ServiceFault('not-allowed', {
        message: `the link is not https: add ${redactHost(hostname) || 'its host'} to VIDEOGEN_DOWNLOAD_ALLOW, or to downloadAllow of the service, if videos may come from there unencrypted`,
      });
    },
  };
}

/** One spelling for each host: IPv6 addresses have many, with brackets and without. */
export function normalizeHost(host: string): string {
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return isIPv6(bare) && !bare.includes('%') ? new URL(`http://[${bare}]`).hostname : bare;
}

export interface VideoConnectorOptions {
  /** Milliseconds. */
  timeout: number;
  mayBePrivate: DownloadRules['mayBePrivate'];
  redactHost: RedactHost;
  /** The message for an address that is refused; by default that for a link to a video. */
  describe?: (target: string, kind: AddressKind) => string;
  lookup?: LookupFunction;
}

/**
 * Connects only to public addresses, except for hosts that may be private: a link in an answer must not make a worker
 * send requests into its own network. The address is checked for each connection, because the next DNS answer for the
 * same name may differ.
 */
export function createVideoConnector({
  timeout,
  mayBePrivate,
  redactHost,
  describe = describeLink,
  lookup = systemLookup,
}: VideoConnectorOptions): buildConnector.connector {
  const check: CheckAddress = (address, hostname) => checkAddress(address, hostname, redactHost, describe);
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

const describeLink = (target: string, kind: AddressKind) =>
  `the link leads to ${target}, a ${kind} address: add the host to VIDEOGEN_DOWNLOAD_ALLOW, or to downloadAllow of the service, if videos really come from there`;

function checkAddress(
  address: string,
  hostname: string,
  redactHost: RedactHost,
  describe: (target: string, kind: AddressKind) => string,
): ServiceFault | undefined {
  const kind = whyNotPublic(address);
  if (kind === undefined) return undefined;
  const target = address === hostname ? address : `${address} (${redactHost(hostname)})`;
  return new ServiceFault('not-allowed', { message: describe(target, kind) });
}
