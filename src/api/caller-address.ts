import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { Ip, Network } from '../platform/validation/networks.ts';

/** Whoever has an IPv6 address has a network of them. */
const groupsOfNetwork = 4;

/** Some proxies write the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withPort = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/;

function parse(text: string): Ip | null {
  const [, v6, v4] = withPort.exec(text) ?? [];
  const [address = ''] = (v6 ?? v4 ?? text).split('%');
  return isIP(address) === 0 ? null : ipaddr.process(address);
}

/**
 * Where a request comes from. X-Forwarded-For is read from its end, and only for as long as a trusted proxy wrote it:
 * anybody can send one.
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

/**
 * Where a request comes from, for counting: an IPv4 address, or an IPv6 network of 64 bits; empty when it isn't known.
 */
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

const maxRemembered = 1000;
const longestRemembered = 200;

/** Reads whole addresses for admission. They are remembered: reading one takes longer than the rest of it. */
export function addressReader(trusted: readonly Network[]): (request: IncomingMessage) => string | null {
  const read = new LRUCache<string, { address: string | null }>({ max: maxRemembered });
  return (request) => {
    let shown = request.socket.remoteAddress ?? '';
    if (trusted.length > 0) shown += ` ${String(request.headers['x-forwarded-for'])}`;
    let known = read.get(shown);
    if (known === undefined) {
      known = { address: addressOf(request, trusted)?.toString() ?? null };
      if (shown.length <= longestRemembered) read.set(shown, known);
    }
    return known.address;
  };
}
