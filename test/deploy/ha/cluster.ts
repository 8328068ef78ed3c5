import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

/**
 * Three database hosts, as deploy/ha sets them up, and HAProxy on this machine. Each host has namespaces of its own for
 * network, processes and files. It all ends with the namespaces of this process.
 */

const root = join(import.meta.dirname, '../../..');
const disks = '/mnt';
const addresses = ['10.20.0.1', '10.20.0.2', '10.20.0.3'];
const setUp = `${root}/deploy/ha/set-up`;
const named = addresses.map((address, n) => `db${n + 1}=${address}`);

/** How a primary is lost: its PostgreSQL is killed, its host has no power, or its host has no network. */
export const losses = ['killed', 'no power', 'no network'] as const;
export type Loss = (typeof losses)[number];

type Member = { name: string; role: string; state: string; timeline?: number; lag?: number | string };

const sh = (program: string, ...words: string[]) =>
  execFileSync(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
const ip = (words: string) => sh('ip', ...words.split(' '));

const tail = (file: string) => readFileSync(`${disks}/${file}`, 'utf8').slice(-6000);

const isComplete = (members: Member[]): boolean =>
  members
    .map(({ role }) => role)
    .sort()
    .join() === 'leader,replica,sync_standby' &&
  new Set(members.map(({ timeline }) => timeline)).size === 1 &&
  members.every(({ state, lag = 0 }) => ['running', 'streaming'].includes(state) && lag !== 'unknown');

class Host {
  readonly name: string;
  readonly address: string;
  #process: ChildProcess | null = null;
  constructor(name: string, address: string) {
    this.name = name;
    this.address = address;
  }

  start(): void {
    const own = 'unshare --mount --pid --ipc --fork --kill-child=SIGKILL --mount-proc'.split(' ');
    const first = ['bash', join(import.meta.dirname, 'host.sh'), `${disks}/${this.name}`, setUp, this.name, ...named];
    mkdirSync(`${disks}/${this.name}`, { recursive: true });
    const log = openSync(`${disks}/${this.name}/host.log`, 'a');
    const env = { ...process.env, HA_PASSWORD: 'anyPassword0123456789' };
    const child = spawn('ip', ['netns', 'exec', this.name, ...own, ...first], { stdio: ['ignore', log, log], env });
    this.#process = child;
  }

  async lose(loss: Loss): Promise<void> {
    const { pid } = this.#process!;
    if (loss === 'no network') return void ip(`link set ${this.name} down`);
    if (loss === 'no power') {
      this.#process!.kill('SIGKILL');
      return void (await once(this.#process!, 'exit'));
    }
    const init = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    const kill = 'kill -9 "$(head -1 /var/lib/postgresql/*/ars/postmaster.pid)"';
    sh('nsenter', '--target', init, '--mount', '--pid', 'bash', '-c', kill);
  }

  repair(loss: Loss): void {
    if (loss === 'no network') ip(`link set ${this.name} up`);
    if (loss === 'no power') this.start();
  }
}

export class Cluster {
  readonly hosts = addresses.map((address, n) => new Host(`db${n + 1}`, address));

  static async start(): Promise<Cluster> {
    for (const folder of [disks, '/run', '/dev/shm']) sh('mount', '-t', 'tmpfs', 'tmpfs', folder);
    ip('link set lo up');
    ip('link add hosts type bridge');
    ip('address add 10.20.0.254/24 dev hosts');
    ip('link set hosts up');
    const cluster = new Cluster();
    for (const { name, address } of cluster.hosts) {
      ip(`netns add ${name}`);
      ip(`link add ${name} type veth peer name eth0 netns ${name}`);
      ip(`link set ${name} master hosts up`);
      ip(`-n ${name} address add ${address}/24 dev eth0`);
      for (const device of ['lo', 'eth0']) ip(`-n ${name} link set ${device} up`);
    }
    for (const host of cluster.hosts) host.start();
    await cluster.untilComplete();
    const folder = `${disks}/haproxy`;
    mkdirSync(folder);
    sh('mount', '--bind', folder, '/etc/haproxy');
    sh(setUp, 'proxy', ...named);
    spawn('haproxy', ['-db', '-f', '/etc/haproxy/haproxy.cfg'], { stdio: 'ignore' });
    return cluster;
  }

  /** What each host says about all three: without one of them the cluster is not complete. */
  async #members(): Promise<Member[][]> {
    const asked = this.hosts.map(async ({ address }) => {
      const response = await fetch(`http://${address}:8008/cluster`, { signal: AbortSignal.timeout(1000) });
      return ((await response.json()) as { members: Member[] }).members;
    });
    return Promise.all(asked).catch(() => []);
  }

  /** Waits until there is a primary, a standby that commits wait for, and a second standby. @returns the primary */
  async untilComplete(ms = 90_000): Promise<Host> {
    const endMs = performance.now() + ms;
    let views: Member[][] = [];
    for (; performance.now() < endMs; await setTimeout(250)) {
      views = await this.#members();
      const leaders = new Set(views.map((members) => members.find(({ role }) => role === 'leader')?.name));
      if (views.length === 3 && leaders.size === 1 && views.every(isComplete))
        return this.hosts.find(({ name }) => leaders.has(name))!;
    }
    return assert.fail(`The cluster is not complete: ${JSON.stringify(views)}\n${this.logs()}`);
  }

  /** Waits until another host is the primary. @returns its name */
  async untilPromoted(lost: Host): Promise<string> {
    const others = this.hosts.filter((host) => host !== lost);
    for (const endMs = performance.now() + 90_000; performance.now() < endMs; await setTimeout(100))
      for (const { name, address } of others) {
        const asked = fetch(`http://${address}:8008/primary`, { signal: AbortSignal.timeout(1000) });
        if (await asked.then(({ ok }) => ok).catch(() => false)) return name;
      }
    return assert.fail(`No other host was promoted.\n${this.logs()}`);
  }

  logs(): string {
    return this.hosts.map(({ name }) => `${tail(`${name}/host.log`)}${tail(`${name}/patroni.log`)}`).join('\n=====\n');
  }

  /** Creates role and database as the page says. @returns the URL of the database */
  async createDatabase(): Promise<string> {
    const statements = [
      `create role ars login password 'PASSWORD'`,
      `create database ars owner ars encoding 'UTF8' template template0`,
    ];
    const superuser = 'postgres://postgres:anyPassword0123456789@127.0.0.1:5000/postgres';
    // HAProxy takes all hosts for primaries until it has asked each of them.
    const isPrimary = () =>
      String(spawnSync('psql', [superuser, '-Atc', 'select pg_is_in_recovery()']).stdout) === 'f\n';
    while (!this.hosts.every(isPrimary)) await setTimeout(100);
    for (const one of statements) sh('psql', superuser, '-v', 'ON_ERROR_STOP=1', '-qc', one);
    return 'postgres://ars:PASSWORD@127.0.0.1:5000/ars';
  }
}
