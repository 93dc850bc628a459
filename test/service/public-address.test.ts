import { whyNotPublic } from '../../src/service/public-address';
import { justLoaded } from '../support/just-loaded';

// The first and the last address of each range.
const NOT_PUBLIC_IPV4 = [
  ['0.0.0.0', 'reserved'],
  ['0.255.255.255', 'reserved'],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['100.64.0.0', 'private'],
  ['100.100.100.200', 'private'],
  ['100.127.255.255', 'private'],
  ['127.0.0.0', 'loopback'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.255', 'loopback'],
  ['168.63.129.16', 'metadata'],
  ['169.254.0.0', 'link-local'],
  ['169.254.169.254', 'link-local'],
  ['169.254.255.255', 'link-local'],
  ['172.16.0.0', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.0', 'reserved'],
  ['192.0.0.192', 'reserved'],
  ['192.0.0.255', 'reserved'],
  ['192.0.2.0', 'documentation'],
  ['192.0.2.255', 'documentation'],
  ['192.88.99.0', 'reserved'],
  ['192.88.99.255', 'reserved'],
  ['192.168.0.0', 'private'],
  ['192.168.255.255', 'private'],
  ['198.18.0.0', 'benchmarking'],
  ['198.19.255.255', 'benchmarking'],
  ['198.51.100.0', 'documentation'],
  ['198.51.100.255', 'documentation'],
  ['203.0.113.0', 'documentation'],
  ['203.0.113.255', 'documentation'],
  ['224.0.0.0', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.0', 'reserved'],
  ['255.255.255.255', 'reserved'],
] as const;

describe.each(NOT_PUBLIC_IPV4)('%s', (address, kind) => {
  it(`is a ${kind} address, also in its IPv6 forms`, () => {
    expect(whyNotPublic(address)).toBe(kind);
    expect(whyNotPublic(`::ffff:${address}`)).toBe(kind);
    expect(whyNotPublic(`::ffff:${hexadecimal(address)}`)).toBe(kind);
    expect(whyNotPublic(`64:ff9b::${address}`)).toBe(kind);
    expect(whyNotPublic(`64:ff9b::${hexadecimal(address)}`)).toBe(kind);
    expect(whyNotPublic(`2002:${hexadecimal(address)}::1`)).toBe('tunnel');
    expect(whyNotPublic(`::${address}`)).toBeDefined();
    expect(whyNotPublic(`::ffff:0:${address}`)).toBe('reserved');
  });
});

const PUBLIC_IPV4 = [
  '1.0.0.0',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.15',
  '168.63.129.17',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '191.255.255.255',
  '192.0.1.0',
  '192.0.3.0',
  '192.88.98.255',
  '192.88.100.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '198.51.99.255',
  '198.51.101.0',
  '203.0.112.255',
  '203.0.114.0',
  '223.255.255.255',
];

describe.each(PUBLIC_IPV4)('%s', (address) => {
  it('is public, also in its IPv6 forms', () => {
    expect(whyNotPublic(address)).toBeUndefined();
    expect(whyNotPublic(`::ffff:${address}`)).toBeUndefined();
    expect(whyNotPublic(`64:ff9b::${address}`)).toBeUndefined();
  });
});

const NOT_PUBLIC_IPV6 = [
  ['::', 'reserved'],
  ['::1', 'loopback'],
  ['0:0:0:0:0:0:0:1', 'loopback'],
  ['::2', 'reserved'],
  ['64:ff9a:ffff::', 'reserved'],
  ['64:ff9b:0:0:0:1::', 'reserved'],
  ['64:ff9b:1::1', 'reserved'],
  ['100::1', 'reserved'],
  ['1fff:ffff::', 'reserved'],
  ['2001::1', 'tunnel'],
  ['2001:0:ffff:ffff:ffff:ffff:ffff:ffff', 'tunnel'],
  ['2001:1::', 'reserved'],
  ['2001:2::1', 'reserved'],
  ['2001:1ff:ffff::', 'reserved'],
  ['2001:db8::', 'documentation'],
  ['2001:db8:ffff::', 'documentation'],
  ['2002::', 'tunnel'],
  ['2002:ffff::', 'tunnel'],
  ['3fff::', 'documentation'],
  ['3fff:fff:ffff::', 'documentation'],
  ['4000::', 'reserved'],
  ['5f00::1', 'reserved'],
  ['fbff:ffff::', 'reserved'],
  ['fc00::', 'private'],
  ['fd00:ec2::254', 'private'],
  ['fdff:ffff::', 'private'],
  ['fe00::', 'reserved'],
  ['fe80::1', 'link-local'],
  ['febf:ffff::', 'link-local'],
  ['fec0::1', 'link-local'],
  ['ff02::1', 'multicast'],
  ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'multicast'],
] as const;

it.each(NOT_PUBLIC_IPV6)('%s is a %s address', (address, kind) => {
  expect(whyNotPublic(address)).toBe(kind);
});

const PUBLIC_IPV6 = [
  '2000::',
  '2001:200::',
  '2001:4860:4860::8888',
  '2001:db7:ffff::',
  '2001:db9::',
  '2003::',
  '2606:4700::1111',
  '3ffe:ffff::',
  '3fff:1000::',
];

it.each(PUBLIC_IPV6)('%s is public', (address) => {
  expect(whyNotPublic(address)).toBeUndefined();
});

it.each(['', 'localhost', '1.2.3', '8.8.8.8.', '2130706433', '0x7f.1', '[2606:4700::1111]', 'fe80::1%eth0'])(
  '%j is not taken for a public address',
  (address) => {
    expect(whyNotPublic(address)).toBeDefined();
  },
);

it('every range is known from the first address on that a process asks about', () => {
  const kinds = [
    ...NOT_PUBLIC_IPV4.flatMap(([address, kind]) => [
      [address, kind],
      [`::ffff:${address}`, kind],
      [`64:ff9b::${address}`, kind],
    ]),
    ...PUBLIC_IPV4.flatMap((address) => [[address], [`::ffff:${address}`], [`64:ff9b::${address}`]]),
    ...NOT_PUBLIC_IPV6,
    ...PUBLIC_IPV6.map((address) => [address]),
  ];
  const { whyNotPublic: ask } = justLoaded((): typeof import('../../src/service/public-address') =>
    require('../../src/service/public-address'),
  );
  expect(kinds.map(([address = '']) => [address, ask(address)])).toEqual(
    kinds.map(([address, kind]) => [address, kind]),
  );
});

/** `127.0.0.1` as `7f00:1`. */
function hexadecimal(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return [a * 256 + b, c * 256 + d].map((half) => half.toString(16)).join(':');
}
