import { describe, expect, it } from 'vitest';
import { isLoopbackHost, isPrivateAddress, isPublicAddress } from './outbound-policy.ts';

describe('isPublicAddress', () => {
  it.each([
    '8.8.8.8',
    '93.184.216.34',
    '2606:4700:4700::1111',
    '2a00:1450:4001:80b::200e',
    '64:ff9b::808:808',
    '64:ff9b::93.184.216.34',
  ])('T48: %s is public', address => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'this network'],
    ['10.0.0.1', 'private'],
    ['100.64.0.1', 'shared'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'cloud metadata'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.1', 'protocol assignments'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', '6to4 relay'],
    ['192.168.1.1', 'private'],
    ['198.18.0.1', 'benchmark'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::ffff:169.254.169.254', 'IPv4-mapped'],
    ['::ffff:8.8.8.8', 'IPv4-mapped, even of a public address'],
    ['::7f00:1', 'IPv4-compatible'],
    ['64:ff9b::7f00:1', 'NAT64 of loopback'],
    ['64:ff9b::a00:1', 'NAT64 of a private address'],
    ['64:ff9b::a9fe:a9fe', 'NAT64 of cloud metadata'],
    ['64:ff9b::6440:1', 'NAT64 of a shared address'],
    ['64:ff9b::ffff:ffff', 'NAT64 of broadcast'],
    ['64:ff9b::1:808:808', 'next to the prefix of NAT64'],
    ['64:ff9b:1::a00:1', 'local NAT64'],
    ['100::1', 'discard'],
    ['2001::1', 'Teredo'],
    ['2001:db8::1', 'documentation'],
    ['2002:7f00:1::', '6to4'],
    ['3fff::1', 'documentation'],
    ['5f00::1', 'segment routing'],
    ['4000::1', 'not assigned'],
    ['fc00::1', 'unique local'],
    ['fd00::8', 'unique local'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local with zone'],
    ['fec0::1', 'site-local'],
    ['ff02::1', 'multicast'],
    ['', 'empty'],
    ['localhost', 'a name'],
  ])('N6: %s is not public (%s)', address => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('isLoopbackHost', () => {
  it.each(['localhost', 'idp.localhost', '127.0.0.1', '127.8.8.8', '[::1]'])('%s is a loopback host', host => {
    expect(isLoopbackHost(host)).toBe(true);
  });

  it.each(['localhost.', 'notlocalhost', 'localhost.example', '10.0.0.1', '[::ffff:7f00:1]', '[::]', '0.0.0.0', ''])(
    'N6: %s is not a loopback host',
    host => {
      expect(isLoopbackHost(host)).toBe(false);
    },
  );
});

describe('isPrivateAddress', () => {
  it.each(['10.0.0.1', '172.16.0.1', '192.168.1.1', 'fd00::8', '100.64.0.1', '64:ff9b::a00:1'])(
    '%s is private',
    address => {
      expect(isPrivateAddress(address)).toBe(true);
    },
  );
  it.each([
    '127.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '8.8.8.8',
    '::1',
    'fe80::1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::a9fe:a9fe',
    'x',
  ])('%s is not private', address => {
    expect(isPrivateAddress(address)).toBe(false);
  });
});
