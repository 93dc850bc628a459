import { BlockList, isIPv4, isIPv6 } from 'node:net';

const NAT64 = '64:ff9b::';

/** IANA's registries of special-purpose addresses. */
const SPECIAL = {
  loopback: ['127.0.0.0/8', '::1/128'],
  // The last IPv4 one is carrier-grade NAT; Alibaba's metadata service is there.
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'],
  'link-local': ['169.254.0.0/16', 'fe80::/10', 'fec0::/10'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  // Azure's metadata service has an address from a public range.
  metadata: ['168.63.129.16/32'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
  benchmarking: ['198.18.0.0/15'],
  // 6to4 and Teredo addresses contain an IPv4 address. Both are obsolete, so no video is there.
  tunnel: ['2002::/16', '2001::/32'],
  reserved: ['0.0.0.0/8', '192.0.0.0/24', '192.88.99.0/24', '240.0.0.0/4', '2001::/23'],
};

/** What a non-public address is. */
export type AddressKind = keyof typeof SPECIAL;

/** IANA has allocated nothing else. An IPv4 address in one of the last two forms is as public as it is by itself. */
const GLOBAL_IPV6 = listOf(['2000::/3', '::ffff:0:0/96', `${NAT64}/96`]);

const LISTS = (Object.keys(SPECIAL) as AddressKind[]).map((kind) => ({ kind, list: listOf(SPECIAL[kind]) }));

/** Why an address is not public; undefined when it is. Text that is not an address is not public either. */
export function whyNotPublic(address: string): AddressKind | undefined {
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  const { kind } = LISTS.find(({ list }) => list.check(address, family)) ?? {};
  if (kind !== undefined || isIPv4(address)) return kind;
  return isIPv6(address) && GLOBAL_IPV6.check(address, 'ipv6') ? undefined : 'reserved';
}

/** A BlockList matches the v4-mapped form of an IPv4 address by itself, but not its NAT64 form. */
function listOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = '', prefix] = subnet.split('/');
    list.addSubnet(network, Number(prefix), isIPv4(network) ? 'ipv4' : 'ipv6');
    if (isIPv4(network)) list.addSubnet(NAT64 + network, 96 + Number(prefix), 'ipv6');
  }
  return list;
}
