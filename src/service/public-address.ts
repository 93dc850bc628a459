import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** What a non-public address is. */
export type AddressKind =
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'multicast'
  | 'metadata'
  | 'documentation'
  | 'benchmarking'
  | 'tunnel'
  | 'reserved';

type Subnet = [network: string, prefix: number];

/** IANA's registry of special-purpose IPv4 addresses. */
const IPV4: [AddressKind, Subnet[]][] = [
  ['loopback', [['127.0.0.0', 8]]],
  [
    'private',
    [
      ['10.0.0.0', 8],
      ['172.16.0.0', 12],
      ['192.168.0.0', 16],
      // Carrier-grade NAT; Alibaba's metadata service is here.
      ['100.64.0.0', 10],
    ],
  ],
  ['link-local', [['169.254.0.0', 16]]],
  ['multicast', [['224.0.0.0', 4]]],
  // Azure's metadata service has an address from a public range.
  ['metadata', [['168.63.129.16', 32]]],
  [
    'documentation',
    [
      ['192.0.2.0', 24],
      ['198.51.100.0', 24],
      ['203.0.113.0', 24],
    ],
  ],
  ['benchmarking', [['198.18.0.0', 15]]],
  [
    'reserved',
    [
      ['0.0.0.0', 8],
      ['192.0.0.0', 24],
      ['192.88.99.0', 24],
      ['240.0.0.0', 4],
    ],
  ],
];

const IPV6: [AddressKind, Subnet[]][] = [
  ['loopback', [['::1', 128]]],
  ['private', [['fc00::', 7]]],
  [
    'link-local',
    [
      ['fe80::', 10],
      ['fec0::', 10],
    ],
  ],
  ['multicast', [['ff00::', 8]]],
  [
    'documentation',
    [
      ['2001:db8::', 32],
      ['3fff::', 20],
    ],
  ],
  // 6to4 and Teredo addresses contain an IPv4 address. Both are obsolete, so no video is there.
  [
    'tunnel',
    [
      ['2002::', 16],
      ['2001::', 32],
    ],
  ],
  ['reserved', [['2001::', 23]]],
];

const MAPPED = '::ffff:';
const NAT64 = '64:ff9b::';

/** IANA has allocated nothing else. An IPv4 address in one of the last two forms is as public as it is by itself. */
const GLOBAL_IPV6 = listOf('ipv6', [
  ['2000::', 3],
  [`${MAPPED}0:0`, 96],
  [NAT64, 96],
]);

const LISTS: [AddressKind, BlockList][] = [
  ...IPV4.map(([kind, subnets]): [AddressKind, BlockList] => [kind, withNat64(subnets)]),
  ...IPV6.map(([kind, subnets]): [AddressKind, BlockList] => [kind, listOf('ipv6', subnets)]),
];

/** Why an address is not public; undefined when it is. Text that is not an address is not public either. */
export function whyNotPublic(address: string): AddressKind | undefined {
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  const [kind] = LISTS.find(([, list]) => list.check(address, family)) ?? [];
  if (kind !== undefined || isIPv4(address)) return kind;
  return isIPv6(address) && GLOBAL_IPV6.check(address, 'ipv6') ? undefined : 'reserved';
}

function listOf(family: 'ipv4' | 'ipv6', subnets: Subnet[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, family);
  return list;
}

/** A BlockList matches the v4-mapped form of an IPv4 address by itself, but not its NAT64 form. */
function withNat64(subnets: Subnet[]): BlockList {
  const list = listOf('ipv4', subnets);
  for (const [network, prefix] of subnets) list.addSubnet(NAT64 + network, 96 + prefix, 'ipv6');
  return list;
}
