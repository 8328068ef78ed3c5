import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';

/** Resolves to all IPv4 and IPv6 addresses of a host name. Rejects with DnsError if the name has no address. */
export type Resolve = (hostname: string) => Promise<string[]>;

export class DnsError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = 'DnsError';
    this.code = code;
  }
}

/** The timeout of one query to a name server. All tries together stay within the time limit of a delivery. */
const queryTimeoutMs = 2_500;
const queryTries = 2;

const hostsFile = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts';

async function fromHostsFile(hostname: string): Promise<string[]> {
  const text = await readFile(hostsFile, 'utf8').catch(() => '');
  const found: string[] = [];
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (address !== undefined && names.some((name) => name.toLowerCase() === hostname)) found.push(address);
  }
  return found;
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'EUNKNOWN';
}

const sentences: Record<string, string> = {
  ENOTFOUND: 'The host name does not exist.',
  ENODATA: 'The host name has no address.',
  ETIMEOUT: 'The name server did not answer in time.',
  ESERVFAIL: 'The name server could not answer.',
  ECONNREFUSED: 'The name server could not be reached.',
};

/**
 * Looks a name up in the hosts file, then at the name servers. `dns.lookup` would run in only 4 threads, so 4 hanging
 * queries would stop all deliveries.
 * @param servers the name servers; by default those of the system
 */
export function createResolver({ servers }: { servers?: readonly string[] } = {}): Resolve {
  return async (hostname) => {
    const listed = await fromHostsFile(hostname);
    if (listed.length > 0) return listed;
    // A resolver reads the system's name servers only when it is created, so each lookup creates a resolver.
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTries, maxTimeout: queryTimeoutMs });
    if (servers !== undefined) resolver.setServers(servers);
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const codes = answers.map((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : 'ENODATA'));
    const code = codes.find((candidate) => candidate !== 'ENODATA') ?? 'ENODATA';
    throw new DnsError(code, sentences[code] ?? `The host name could not be resolved (${code}).`);
  };
}
