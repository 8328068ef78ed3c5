import { once } from 'node:events';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { Write } from '../../../client/src/index.ts';
import { Client, replayWrites, verifyWebhook } from '../../../client/src/index.ts';
import { emptyDigest, plus, readDigest, sameDigest } from '../../../client/src/sync/digest.ts';

/**
 * A consumer as people write them, with nothing but fetch and a file: right, but for the one fault that it is given.
 * As a program it takes its settings from the environment.
 */

export type ConsumerFault =
  | 'none'
  | 'no-next'
  | 'keeps-withdrawn'
  | 'ignores-exits'
  | 'own-clock'
  | 'ignores-retry-after'
  | 'takes-cut'
  | 'early-checkpoint'
  | 'checkpoint-first'
  | 'no-signature'
  | 'no-timestamp'
  | 'appends-events'
  | 'refuses-repeats'
  | 'trusts-events'
  | 'strict'
  | 'strict-events'
  | 'crashes'
  | 'stops-at-empty'
  | 'reads-everything'
  | 'gives-up'
  | 'drops-nulls'
  | 'strict-values'
  | 'no-digest'
  | 'by-restored'
  | 'by-link'
  | 'by-subject'
  | 'remakes'
  | 'writes'
  | 'writes-again';

export type ConsumerSettings = {
  api: string;
  accessKeyId: string;
  secretAccessKey: string;
  webhookSecret: string;
  groupId: string;
  file: string;
  fault: ConsumerFault;
  port?: number;
};

type Entry = { assessment_id: string; updated_at: string; status?: string; removed?: object; [field: string]: unknown };
type State = { since: string | null; etag: string | null; records: Entry[] };

const pollMs = 80;
const knownFields = ['assessment_id', 'status', 'updated_at', 'removed', 'learner', 'assessed_at', 'subject'].concat(
  ['framework', 'rqf_level', 'rqf_level_code', 'below_level_1', 'working_level', 'recommended_next_level'],
  ['is_borderline', 'needs_review', 'domains', 'level_probabilities', 'evidence_pack_url', 'report_sha256', 'groups'],
);

const own = { type: 'course', ref: 'OWN-1', name: 'Own course' } as const;
const archived = { type: 'class', ref: 'OWN-2', name: 'Own class' } as const;
const ofStage = { type: 'cohort', ref: 'conform' };
/** What it writes when it starts. */
const writes: Write[] = [
  { operation: 'createGroup', group: own },
  { operation: 'createGroup', group: archived },
  { operation: 'changeGroup', group: archived, change: { active: false } },
  { operation: 'provisionLearner', learner: { ref: 'own-1', full_name: 'A Learner', groups: [own] } },
  { operation: 'provisionLearner', learner: { ref: 'own-2', full_name: 'Another Learner' } },
  { operation: 'addMembers', group: own, learnerRefs: ['own-2', 'CONFORM-20-n'] },
  { operation: 'removeMembers', group: ofStage, learnerRefs: ['CONFORM-21-n'] },
  { operation: 'registerWebhook', endpoint: { url: 'https://portfolio.example.org/hooks' } },
];

/** Starts it. @returns where it takes webhooks, and what ends it */
export async function startConsumer(settings: ConsumerSettings): Promise<{ url: string; stop(): Promise<void> }> {
  const { api, fault, file } = settings;
  const headers = { 'x-access-key-id': settings.accessKeyId, 'x-secret-access-key': settings.secretAccessKey };
  const stopping = new AbortController();
  let woken = () => {};
  let state: State = { since: null, etag: null, records: [] };
  try {
    state = { ...state, ...(JSON.parse(readFileSync(`${file}.state`, 'utf8')) as State) };
    state.records = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Entry);
  } catch {
    // The first time.
  }
  /** What its fault has added: a walk that is under way must not take it away again. */
  const appended: Entry[] = [];
  const write = (path: string, content: string) => {
    writeFileSync(`${path}.draft`, content);
    renameSync(`${path}.draft`, path);
  };
  const save = async (next: State) => {
    const checkpoint = () => write(`${file}.state`, JSON.stringify({ since: next.since, etag: next.etag }));
    if (fault === 'checkpoint-first') {
      checkpoint();
      await wait(250);
    }
    // Right as well: it has no file for a moment.
    if (fault === 'remakes') {
      rmSync(file, { force: true });
      await wait(250);
    }
    write(file, [...next.records, ...appended].map((one) => `${JSON.stringify(one)}\n`).join(''));
    checkpoint();
    state = next;
  };
  const applied = (records: Entry[], entries: Entry[]): Entry[] => {
    const held = new Map(records.map((one) => [one.assessment_id, one]));
    for (const entry of entries) {
      if (entry.status === 'deleted') {
        if (fault !== 'keeps-withdrawn') held.delete(entry.assessment_id);
      } else if (entry.removed !== undefined) {
        if (fault !== 'ignores-exits') held.delete(entry.assessment_id);
      } else if (fault === 'drops-nulls' && entry.rqf_level_code === null) held.delete(entry.assessment_id);
      else held.set(entry.assessment_id, entry);
    }
    return [...held.values()];
  };
  let hasGivenUp = false;
  const check = (entry: Entry) => {
    const groups = (entry.groups ?? []) as { type: string }[];
    if (fault === 'strict-values' && groups.some(({ type }) => type !== 'cohort')) throw new Error('unknown type');
    if (fault !== 'strict' && fault !== 'crashes') return;
    const unknown = Object.keys(entry).find((name) => !knownFields.includes(name));
    if (unknown === undefined) return;
    if (fault === 'crashes') process.exit(1);
    throw new Error('unknown field');
  };

  const writesAll = () => {
    const { accessKeyId, secretAccessKey } = settings;
    return replayWrites(new Client({ baseUrl: api, accessKeyId, secretAccessKey }), writes);
  };
  let restored: string | null = null;
  async function resend(of: Response): Promise<void> {
    const said = of.headers.get('x-sync-restored');
    const isNews = said !== restored;
    restored = said;
    if (!isNews || fault !== 'writes-again') return;
    await writesAll();
  }

  async function walk(since: string | null): Promise<void> {
    const first = new URL(`${api}/assessments`);
    first.searchParams.set('group_id', settings.groupId);
    if (since !== null)
      first.searchParams.set(
        'since',
        fault === 'own-clock' ? new Date(performance.timeOrigin + performance.now() - 1000).toISOString() : since,
      );
    // One mirror of several walks is right as well.
    const walks =
      fault === 'by-subject' ? ['maths', 'english', 'digital'].map((one) => `${first.href}&subject=${one}`) : [];
    let next: string | null = walks.shift() ?? first.href;
    let isFirst = true;
    let through: string | null = null;
    let etag: string | null = null;
    let digest: string | null = null;
    const entries: Entry[] = [];
    while (next !== null) {
      const conditional =
        isFirst && fault !== 'by-subject' && since !== null && state.etag !== null
          ? { 'if-none-match': state.etag }
          : {};
      const reply: Response = await fetch(next, { headers: { ...headers, ...conditional }, signal: stopping.signal });
      if (reply.status === 304) return;
      await resend(reply);
      if (!reply.ok) {
        await reply.body?.cancel();
        hasGivenUp = fault === 'gives-up';
        const seconds = Number(reply.headers.get('retry-after') ?? 0);
        if (fault !== 'ignores-retry-after') await wait(seconds * 1000, undefined, { signal: stopping.signal });
        return;
      }
      if (isFirst) [through, etag] = [reply.headers.get('x-sync-through'), reply.headers.get('etag')];
      if (isFirst && fault === 'early-checkpoint' && since !== null) state = { ...state, since: through, etag };
      // Right as well, where nothing is compared.
      if (fault === 'by-restored' && since !== null && (reply.headers.get('x-sync-restored') ?? '') > since) {
        await reply.body?.cancel();
        return walk(null);
      }
      isFirst = false;
      let body: { data: Entry[]; pagination: { next: string | null } };
      try {
        body = (await reply.json()) as typeof body;
      } catch (error) {
        if (fault !== 'takes-cut') throw error;
        body = { data: [], pagination: { next: null } };
      }
      body.data.forEach(check);
      entries.push(...body.data);
      if (fault === 'early-checkpoint' && since !== null)
        await save({ ...state, records: applied(state.records, body.data) });
      const isOver = fault === 'no-next' || (fault === 'stops-at-empty' && body.data.length === 0);
      // Right as well: the address stands in the header, too.
      const link = /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1] ?? null;
      next = isOver ? null : fault === 'by-link' ? link : body.pagination.next;
      next ??= walks.shift() ?? null;
      digest = reply.headers.get('x-sync-digest');
    }
    const records = applied(since === null ? [] : state.records, entries);
    await save({ since: through, etag, records });
    const told = readDigest(digest);
    if (fault !== 'none' || told === null) return;
    const own = records.reduce(
      (sum, { assessment_id: id, updated_at }) => plus(sum, { id, updated_at }, 1),
      emptyDigest,
    );
    if (!sameDigest(own, told)) await walk(null);
  }

  const seen = new Set<string>();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const header = String(request.headers['x-svc-signature-256'] ?? '');
    const given = { secret: settings.webhookSecret, header, body };
    const tolerance = fault === 'no-timestamp' ? { toleranceSeconds: 1e9 } : {};
    const verdict = fault === 'no-signature' ? 'valid' : await verifyWebhook({ ...given, ...tolerance });
    const id = String(request.headers['x-svc-delivery-id']);
    const answer = (status: number) => response.writeHead(status).end();
    if (verdict !== 'valid') return answer(400);
    if (fault === 'refuses-repeats' && seen.has(id)) return answer(409);
    seen.add(id);
    const event = JSON.parse(body) as { event: string; data?: Entry };
    if (fault === 'strict-events' && !/^(assessment\.completed|learner\.groups\.updated)$/.test(event.event))
      return answer(400);
    if (event.data !== undefined && fault === 'appends-events') {
      appended.push(event.data);
      await save(state);
    }
    if (event.data !== undefined && fault === 'trusts-events')
      await save({ ...state, records: applied(state.records, [event.data]) });
    woken();
    return answer(204);
  });
  server.listen(settings.port ?? 0, '127.0.0.1');
  await once(server, 'listening');

  const polling = (async () => {
    if (fault === 'writes' || fault === 'writes-again') await writesAll();
    while (!stopping.signal.aborted && !hasGivenUp) {
      await walk(fault === 'reads-everything' ? null : state.since).catch(() => {});
      await Promise.race([
        wait(pollMs, undefined, { signal: stopping.signal }).catch(() => {}),
        new Promise<void>((resolve) => (woken = resolve)),
      ]);
    }
  })();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async stop() {
      stopping.abort();
      server.close();
      server.closeAllConnections();
      await polling;
    },
  };
}

if (import.meta.main) {
  const { API, ACCESS_KEY_ID, SECRET_ACCESS_KEY, WEBHOOK_SECRET, GROUP_ID, MIRROR, FAULT, PORT } = process.env;
  await startConsumer({
    api: API!,
    accessKeyId: ACCESS_KEY_ID!,
    secretAccessKey: SECRET_ACCESS_KEY!,
    webhookSecret: WEBHOOK_SECRET!,
    groupId: GROUP_ID!,
    file: MIRROR!,
    fault: FAULT as ConsumerFault,
    port: Number(PORT),
  });
}
