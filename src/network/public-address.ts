import ipaddr from 'ipaddr.js';

/** IPv6 addresses routed on the internet; others are local, mapped or reserved. */
const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3');

/**
 * Whether an address belongs to the public internet. Forms that contain an IPv4 address (mapped, NAT64, 6to4, Teredo …)
 * are not public: what they reach depends on the local network.
 */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST_V6);
};
