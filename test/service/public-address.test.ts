import { whyNotPublic } from '../../src/service/public-address';

/** The first and the last address of each range, and what it is. */
it.each([
  ['0.0.0.0', '0.255.255.255', 'reserved'],
  ['10.0.0.0', '10.255.255.255', 'private'],
  // Alibaba's metadata service is there.
  ['100.64.0.0', '100.127.255.255', 'private'],
  ['127.0.0.0', '127.255.255.255', 'loopback'],
  // Azure's metadata service.
  ['168.63.129.16', '168.63.129.16', 'metadata'],
  ['169.254.0.0', '169.254.255.255', 'link-local'],
  ['172.16.0.0', '172.31.255.255', 'private'],
  ['192.0.0.0', '192.0.0.255', 'reserved'],
  ['192.0.2.0', '192.0.2.255', 'documentation'],
  ['192.88.99.0', '192.88.99.255', 'reserved'],
  ['192.168.0.0', '192.168.255.255', 'private'],
  ['198.18.0.0', '198.19.255.255', 'benchmarking'],
  ['198.51.100.0', '198.51.100.255', 'documentation'],
  ['203.0.113.0', '203.0.113.255', 'documentation'],
  ['224.0.0.0', '239.255.255.255', 'multicast'],
  ['240.0.0.0', '255.255.255.255', 'reserved'],
])('from %s to %s an address is %s, also in its IPv6 forms', (first, last, kind) => {
  for (const address of [first, last]) {
    expect(whyNotPublic(address)).toBe(kind);
    expect(whyNotPublic(`::ffff:${address}`)).toBe(kind);
    expect(whyNotPublic(`::ffff:${hexadecimal(address)}`)).toBe(kind);
    expect(whyNotPublic(`64:ff9b::${address}`)).toBe(kind);
    expect(whyNotPublic(`64:ff9b::${hexadecimal(address)}`)).toBe(kind);
    expect(whyNotPublic(`2002:${hexadecimal(address)}::1`)).toBe('tunnel');
    expect(whyNotPublic(`::${address}`)).toBeDefined();
    expect(whyNotPublic(`::ffff:0:${address}`)).toBe('reserved');
  }
});

/** The addresses right before and right after those ranges. */
it.each([
  ...[
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
  ],
  ...['168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ...['191.255.255.255', '192.0.1.0', '192.0.3.0', '192.88.98.255', '192.88.100.0', '192.167.255.255'],
  ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '198.51.99.255', '198.51.101.0', '203.0.112.255'],
  ...['203.0.114.0', '223.255.255.255'],
])('%s is public, also in its IPv6 forms', (address) => {
  expect(whyNotPublic(address)).toBeUndefined();
  expect(whyNotPublic(`::ffff:${address}`)).toBeUndefined();
  expect(whyNotPublic(`64:ff9b::${address}`)).toBeUndefined();
});

it.each<[kind: string | undefined, addresses: string[]]>([
  ['loopback', ['::1', '0:0:0:0:0:0:0:1']],
  ['tunnel', ['2001::1', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff', '2002::', '2002:ffff::']],
  ['documentation', ['2001:db8::', '2001:db8:ffff::', '3fff::', '3fff:fff:ffff::']],
  ['private', ['fc00::', 'fd00:ec2::254', 'fdff:ffff::']],
  ['link-local', ['fe80::1', 'febf:ffff::', 'fec0::1']],
  ['multicast', ['ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
  [
    'reserved',
    [
      ...['::', '::2', '64:ff9a:ffff::', '64:ff9b:0:0:0:1::', '64:ff9b:1::1', '100::1', '1fff:ffff::'],
      ...['2001:1::', '2001:2::1', '2001:1ff:ffff::', '4000::', '5f00::1', 'fbff:ffff::', 'fe00::'],
    ],
  ],
  [
    undefined,
    [
      ...['2000::', '2001:200::', '2001:4860:4860::8888', '2001:db7:ffff::', '2001:db9::', '2003::'],
      ...['2606:4700::1111', '3ffe:ffff::', '3fff:1000::'],
    ],
  ],
])('an IPv6 address may be %s: %j', (kind, addresses) => {
  for (const address of addresses) expect([address, whyNotPublic(address)]).toEqual([address, kind]);
});

it.each(['', 'localhost', '1.2.3', '8.8.8.8.', '2130706433', '0x7f.1', '[2606:4700::1111]', 'fe80::1%eth0'])(
  '%j is not taken for a public address',
  (address) => {
    expect(whyNotPublic(address)).toBeDefined();
  },
);

/** `127.0.0.1` as `7f00:1`. */
function hexadecimal(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return [a * 256 + b, c * 256 + d].map((half) => half.toString(16)).join(':');
}
