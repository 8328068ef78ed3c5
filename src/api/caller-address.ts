import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { Ip, Network } from '../platform/validation/networks.ts';

/** The number of 16-bit groups in a /64 network. A host with one IPv6 address can usually use its whole /64 network. */
const groupsOfNetwork = 4;

/** Some proxies add the port to the address: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withPort = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/;

function parse(text: string): Ip | null {
  const [, v6, v4] = withPort.exec(text) ?? [];
  const [address = ''] = (v6 ?? v4 ?? text).split('%');
  return isIP(address) === 0 ? null : ipaddr.process(address);
}

/**
 * The caller's IP address. Any client can send X-Forwarded-For, so only entries that trusted proxies appended count.
 */
function addressOf(request: IncomingMessage, trusted: readonly Network[]): Ip | null {
  const isTrusted = (one: Ip) =>
    trusted.some(([first, length]) => first.kind() === one.kind() && one.match(first, length));
  let address = parse(request.socket.remoteAddress ?? '');
  const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  while (address !== null && isTrusted(address)) {
    const before = parse((forwarded.pop() ?? '').trim());
    if (before === null) break;
    address = before;
  }
  return address;
}

/** The name under which a caller's calls are counted: an IPv4 address or an IPv6 /64 network; empty: unknown. */
export function callerAddress(request: IncomingMessage, trusted: readonly Network[]): string {
  const address = addressOf(request, trusted);
  if (address === null) return '';
  return address instanceof ipaddr.IPv6
    ? address.parts
        .slice(0, groupsOfNetwork)
        .map((part) => part.toString(16))
        .join(':')
    : address.toString();
}

/** Reads callers' full IP addresses for admission. Parsed addresses are cached, because parsing is slow. */
export function addressReader(trusted: readonly Network[]): (request: IncomingMessage) => string | null {
  const cache = new LRUCache<string, { address: string | null }>({ max: 1000 });
  return (request) => {
    let sent = request.socket.remoteAddress ?? '';
    if (trusted.length > 0) sent += ` ${String(request.headers['x-forwarded-for'])}`;
    let found = cache.get(sent);
    if (found === undefined) {
      found = { address: addressOf(request, trusted)?.toString() ?? null };
      if (sent.length <= 200) cache.set(sent, found);
    }
    return found.address;
  };
}
