import { isIP } from 'node:net';

import ipaddr from 'ipaddr.js';

/** A range of addresses, such as `10.0.0.0/8`. */
export type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Bits before the IPv4 address in an IPv6 address that contains one. */
const MAPPED_BITS = 96;

/** An address; an IPv4 address in IPv6 form is the IPv4 address. Null: not an address. */
const parseAddress = (text: string): ipaddr.IPv4 | ipaddr.IPv6 | null => {
  // A link-local address may name its interface.
  const [address = ''] = text.split('%');
  // Stricter than ipaddr.js, which also reads 127.1 and 0x7f000001.
  return isIP(address) === 0 ? null : ipaddr.process(address);
};

/** Reads a range, or a single address. Null: neither. */
export const parseRange = (text: string): AddressRange | null => {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (isIP(address) === 0) return null;
  const written = ipaddr.parse(address);
  const length = written.kind() === 'ipv4' ? 32 : 128;
  const given = bits === undefined ? length : Number(bits);
  if (given > length) return null;
  const isMapped = written instanceof ipaddr.IPv6 && written.isIPv4MappedAddress() && given >= MAPPED_BITS;
  return isMapped ? [written.toIPv4Address(), given - MAPPED_BITS] : [written, given];
};

/** Whether an address is in one of these ranges. A text that is not an address is in none. */
export const isInRanges = (text: string, ranges: readonly AddressRange[]): boolean => {
  const address = parseAddress(text);
  return (
    address !== null &&
    ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
  );
};
