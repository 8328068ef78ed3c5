import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { limits } from '../config/limits.ts';

export type Ip = ipaddr.IPv4 | ipaddr.IPv6;

/** The first IP address and the prefix length. */
export type Network = readonly [Ip, number];

/** ipaddr.js confuses `::8.8.8.8` with the mapped `::ffff:8.8.8.8`, so the WHATWG parser reads IPv6 first. */
export function parseIp(text: string): Ip {
  return ipaddr.parse(isIP(text) === 6 ? new URL(`http://[${text}]/`).hostname.slice(1, -1) : text);
}

/** Reads a list such as `10.0.0.0/8, fd12::/16`. @throws RangeError that says what is wrong */
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

/**
 * The service sends only to public hosts, and to the networks in `ARS_WEBHOOK_ALLOW_NETWORKS`. A URL with an IP address
 * is checked at registration and before each attempt.
 * A host name is checked when the connection is made, by every IP address that it resolves to (send.ts).
 */

export type Verdict = { ok: true } | { ok: false; reason: string };
export type UrlVerdict = { ok: true; url: URL } | { ok: false; reason: string };

const refuse = (reason: string): { ok: false; reason: string } => ({ ok: false, reason });
const v6 = (text: string): ipaddr.IPv6 => ipaddr.IPv6.parse(text);

/** Clouds serve an instance's credentials at these addresses, so they are refused even inside an allowed network. */
const metadataAddresses = new Set(
  [
    '169.254.169.254', // Amazon, Azure, Google, Oracle, DigitalOcean, OpenStack and others
    '169.254.170.2',
    '169.254.170.23', // Amazon: containers, pods
    '169.254.42.42', // Scaleway
    '169.254.0.23',
    '169.254.10.10', // Tencent
    '100.100.100.200', // Alibaba
    '100.96.0.96', // Volcano Engine
    '168.63.129.16', // Azure's host agent, within a public range
    '192.0.0.192', // Oracle, earlier
    'fd00:ec2::254',
    'fd00:ec2::23', // Amazon
    'fd20:ce::254', // Google
    'fd00:42::42', // Scaleway
    'fd00:c1::a9fe:a9fe', // Oracle
    'fe80::a9fe:a9fe', // OpenStack
  ].map((text) => parseIp(text).toString()),
);

function lastIpv4(high: number, low: number): ipaddr.IPv4 {
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

/** Finds the IPv4 address inside an IPv6 address. `translated`: packets reach it without an unknown tunnel relay. */
function embeddedIpv4(address: ipaddr.IPv6): { ipv4: ipaddr.IPv4; translated: boolean } | null {
  const [a = 0, b = 0, c = 0, , e = 0, f = 0, g = 0, h = 0] = address.parts;
  const within = (network: string, length: number): boolean => address.match(v6(network), length);
  if (within('::ffff:0:0', 96)) return { ipv4: lastIpv4(g, h), translated: true }; // RFC 4291, mapped
  if (within('64:ff9b::', 96)) return { ipv4: lastIpv4(g, h), translated: true }; // RFC 6052, NAT64
  if (within('64:ff9b:1::', 48)) return { ipv4: lastIpv4(g, h), translated: false }; // RFC 8215, local NAT64
  if (within('::ffff:0:0:0', 96)) return { ipv4: lastIpv4(g, h), translated: false }; // RFC 2765, translated
  // IPv4-compatible addresses of RFC 4291. :: and ::1 are the machine itself.
  if (within('::', 96) && (g > 0 || h > 1)) return { ipv4: lastIpv4(g, h), translated: false };
  if (a === 0x2002) return { ipv4: lastIpv4(b, c), translated: false }; // RFC 3056, 6to4
  if (a === 0x2001 && b === 0) return { ipv4: lastIpv4(g ^ 0xffff, h ^ 0xffff), translated: false }; // RFC 4380, Teredo
  if ((e & 0xfdff) === 0 && f === 0x5efe) return { ipv4: lastIpv4(g, h), translated: false }; // RFC 5214, ISATAP
  return null;
}

function isOpened(address: Ip, networks: readonly Network[]): boolean {
  return networks.some(([first, length]) => first.kind() === address.kind() && address.match(first, length));
}

function judge(address: Ip, networks: readonly Network[]): Verdict {
  if (metadataAddresses.has(address.toString())) return refuse('the address is a cloud metadata service');
  const embedded = address instanceof ipaddr.IPv6 ? embeddedIpv4(address) : null;
  if (embedded !== null && metadataAddresses.has(embedded.ipv4.toString()))
    return refuse('the address is a cloud metadata service');
  if (isOpened(address, networks)) return { ok: true };
  if (embedded !== null) {
    return embedded.translated ? judge(embedded.ipv4, networks) : refuse('the address is a tunnel to an IPv4 address');
  }
  if (address.range() !== 'unicast') return refuse('the address is not public');
  // IANA has allocated only 2000::/3 for public addresses.
  if (address instanceof ipaddr.IPv6 && !address.match(v6('2000::'), 3)) return refuse('the address is not public');
  return { ok: true };
}

/** Checks an IP address as a resolver returns it: IPv4 in decimal, or IPv6 without a zone. */
export function checkAddress(ip: string, networks: readonly Network[]): Verdict {
  if (isIP(ip) === 0 || ip.includes('%')) return refuse("the address can't be read");
  return judge(parseIp(ip), networks);
}

/** `localhost` and names under it resolve to this machine without DNS (RFC 6761). */
export function isLocalhost(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost');
}

export const loopbackAddresses: readonly string[] = ['127.0.0.1', '::1'];

/** Suffixes that only private networks resolve: RFC 6762, RFC 8375, ICANN's list of 2024 and common use. */
const privateSuffixes = 'local internal localdomain home.arpa lan home corp intranet private onion'.split(' ');

function checkName(hostname: string, networks: readonly Network[]): Verdict {
  const labels = hostname.split('.');
  if (hostname.endsWith('.')) return refuse('the host must not end in a dot');
  if (hostname.length > 253 || labels.some((label) => label === '' || label.length > 63))
    return refuse('the host is not a valid name');
  if (isLocalhost(hostname)) {
    return loopbackAddresses.some((ip) => checkAddress(ip, networks).ok)
      ? { ok: true }
      : refuse('the host is this machine');
  }
  // If the operator allows a network, any name is accepted, because private networks have their own names. The IP
  // addresses are checked when the connection is made.
  if (networks.length > 0) return { ok: true };
  if (labels.length === 1) return refuse('the host must be a full domain name');
  if (privateSuffixes.some((suffix) => hostname.endsWith(`.${suffix}`)))
    return refuse('the host is a name of private networks');
  return { ok: true };
}

/** Ports of other protocols (WHATWG Fetch, "bad ports"). */
const refusedPorts = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/**
 * Checks an endpoint's URL without DNS. The caller must use the returned URL, because the WHATWG parser has turned
 * forms such as `2130706433`, `0x7f.1` and `①②⑦.0.0.1` into plain IP addresses.
 */
export function checkUrl(text: string, { allowNetworks }: { allowNetworks: readonly Network[] }): UrlVerdict {
  if (text.length > limits.webhookUrlChars) return refuse(`the URL has more than ${limits.webhookUrlChars} characters`);
  // The WHATWG parser drops or changes these characters, but another parser may keep them.
  if (/[\u0000-\u0020\u007f-\u00a0\\]/u.test(text))
    return refuse('the URL has a space, a control character or a backslash');
  if (!/^https:\/\/[^/]/i.test(text)) return refuse('the URL must begin with https://');
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return refuse("the URL can't be read");
  }
  if (url.username !== '' || url.password !== '') return refuse('the URL must not contain credentials');
  if (text.includes('#')) return refuse('the URL must not contain a fragment');
  if (refusedPorts.has(Number(url.port === '' ? 443 : url.port))) return refuse('the port belongs to another protocol');
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  const verdict = isIP(host) === 0 ? checkName(host, allowNetworks) : checkAddress(host, allowNetworks);
  return verdict.ok ? { ok: true, url } : verdict;
}
