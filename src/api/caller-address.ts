import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Network } from '../networks.ts';

/** Whoever has an IPv6 address has a network of them. */
const groupsOfNetwork = 4;

/** Some proxies write the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withPort = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/;

function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const [, v6, v4] = withPort.exec(text) ?? [];
  const [address = ''] = (v6 ?? v4 ?? text).split('%');
  return isIP(address) === 0 ? null : ipaddr.process(address);
}

/**
 * Where a request comes from: an IPv4 address, or an IPv6 network of 64 bits. X-Forwarded-For is read from its end, and
 * only for as long as a trusted proxy wrote it: anybody can send one.
 */
export function callerAddress(request: IncomingMessage, trusted: readonly Network[]): string {
  const isTrusted = (one: ipaddr.IPv4 | ipaddr.IPv6) =>
    trusted.some(([first, length]) => first.kind() === one.kind() && one.match(first, length));
  let address = parse(request.socket.remoteAddress ?? '');
  const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  while (address !== null && isTrusted(address)) {
    const before = parse((forwarded.pop() ?? '').trim());
    if (before === null) break;
    address = before;
  }
  if (address === null) return '';
  return address instanceof ipaddr.IPv6
    ? address.parts
        .slice(0, groupsOfNetwork)
        .map((part) => part.toString(16))
        .join(':')
    : address.toString();
}
