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

/** Finds the client of a request that reverse proxies have forwarded. */
export interface TrustedProxies {
  /** The address of the client; empty if it is unknown. */
  clientAddress(peer: string, headers: Headers): string;
}

/** More proxies in a row are not expected. */
const MAX_HOPS = 32;

/**
 * A header that came through a trusted proxy has the addresses of the proxies before it at its end. What precedes the
 * last untrusted address was written by that client, and may be wrong. A client can also send the header that its proxy
 * does not set: if the two disagree, the address is unknown.
 */
export const createTrustedProxies = (proxies: readonly string[]): TrustedProxies => {
  const ranges: readonly AddressRange[] = proxies.flatMap((text) => {
    const range = parseRange(text);
    return range === null ? [] : [range];
  });
  const isTrusted = (address: string): boolean => isInRanges(address, ranges);
  return {
    clientAddress(peer, headers) {
      if (!isTrusted(peer)) return peer;
      const lists = [listedIn(headers.get('x-forwarded-for')), forwardedIn(headers.get('forwarded'))];
      const [first, ...others] = new Set(
        lists.flatMap((hops) => {
          if (hops.length === 0) return [];
          if (hops.length > MAX_HOPS) return [''];
          return [hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? ''];
        }),
      );
      return others.length > 0 ? '' : (first ?? peer);
    },
  };
};

const listedIn = (header: string | null): readonly string[] =>
  header === null ? [] : header.split(',').map((entry) => withoutPort(entry.trim()));

/** `for=192.0.2.43;proto=https, for="[2001:db8::1]:4711"`. */
const forwardedIn = (header: string | null): readonly string[] =>
  header === null
    ? []
    : header.split(',').map((entry) => {
        const [, value = ''] = /(?:^|;)\s*for\s*=\s*("[^"]*"|[^\s;]*)/i.exec(entry) ?? [];
        return withoutPort(value.replaceAll('"', ''));
      });

/** Some proxies add the port of the client. */
const withoutPort = (text: string): string =>
  /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(text)?.[1] ?? text;

/** Whether a reverse proxy says that the browser uses HTTPS. */
export const isHttps = (headers: Headers): boolean => {
  const [first = ''] = (headers.get('x-forwarded-proto') ?? '').split(',');
  if (first.trim().toLowerCase() === 'https') return true;
  return /^[^,]*\bproto="?https"?(?:[;,\s]|$)/i.test(headers.get('forwarded') ?? '');
};
