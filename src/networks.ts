import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Addresses and lists of networks, as settings give them. */

export type Ip = ipaddr.IPv4 | ipaddr.IPv6;

/** A network: its first address and the length of its prefix. */
export type Network = readonly [Ip, number];

/**
 * IPv6 goes through the WHATWG parser first: ipaddr.js takes `::8.8.8.8` for the mapped `::ffff:8.8.8.8`, which is a
 * different address to everybody else.
 */
export function parseIp(text: string): Ip {
  return ipaddr.parse(isIP(text) === 6 ? new URL(`http://[${text}]/`).hostname.slice(1, -1) : text);
}

/**
 * Reads a list such as `10.0.0.0/8, fd12::/16`; an empty text opens nothing. Throws a RangeError that says what is
 * wrong.
 */
export function parseNetworks(text: string): Network[] {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  return items.map((item) => {
    const [address = '', prefix, ...rest] = item.split('/');
    const version = isIP(address);
    const longest = version === 4 ? 32 : 128;
    const length = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Infinity;
    if (version === 0 || address.includes('%') || length > longest || rest.length > 0) {
      throw new RangeError(`"${item}" is not a network; write it as 10.1.0.0/16 or fd12:3456::/32.`);
    }
    const parsed = parseIp(address);
    if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress()) {
      throw new RangeError(`"${item}" is an IPv4 network in IPv6 form; write it as IPv4.`);
    }
    const range = `${parsed.toString()}/${length}`;
    const first = version === 4 ? ipaddr.IPv4.networkAddressFromCIDR(range) : ipaddr.IPv6.networkAddressFromCIDR(range);
    if (first.toString() !== parsed.toString()) {
      throw new RangeError(`"${item}" has bits beyond its prefix; its network is ${first.toString()}/${length}.`);
    }
    return [parsed, length] as const;
  });
}
