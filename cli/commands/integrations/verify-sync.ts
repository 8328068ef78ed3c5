import { keyEnvironment } from '../../kit/help.ts';
import type { Assessment, CausedDifference, Cause, Comparison, Filters } from '../../../client/src/index.ts';
import { ApiError, Client, compare } from '../../../client/src/index.ts';
import { orderedFilters } from '../../../client/src/sync/filters.ts';
import { inSpiteOfRestores, refuseRestored } from '../../../client/src/sync/outcome.ts';
import { accessOf } from '../../kit/access.ts';
import { type Call, type Command, type Values, command, Failure, Misuse } from '../../kit/command.ts';
import { type ForeignMirror, openForeignMirror } from './foreign-mirror.ts';
import { checked, flag, or, required, text } from '../../kit/options.ts';
import { limits } from '../../../src/platform/config/limits.ts';

/** One sentence for each kind of difference, with the usual causes. */
const sentences: Record<Cause, string> = {
  coming: 'changed since the newest change that the mirror holds; its next poll brings it',
  restored:
    'stood so before the service came back from a backup, later than anything that the mirror holds; its next poll sees to it if it compares X-Sync-Digest or heeds X-Sync-Restored',
  lost: 'never came, or was lost again. Usual causes: since from a clock of one’s own, a checkpoint stored before its data, pages that were not followed to the end',
  outdated: 'the newer state never came. Usual causes: as for lost ones, or updates that keep the older record',
  kept: 'was withdrawn, or has left the filters, and is still shown. Usual causes: tombstones or scope exits passed over, a whole walk that did not replace what was held',
  ahead:
    'is newer in the mirror. Usual causes: a backup came back at the service, somebody has written to the mirror, or it stores a time of its own in place of the record’s updated_at',
  altered:
    'has another content than the service shows for its time, or no time that can be read. Usual causes: somebody has written to the mirror, or an update that keeps some of the older record',
};

/** Differences that the mirror's next poll repairs. */
const passing: Cause[] = ['coming', 'restored'];

const lists = ['subject', 'rqf_level_code', 'group_id'];

/** Reads the mirror's filters from the query of its full sync. Only parameters that take a list may repeat. */
function filtersOf(text: string): Filters {
  const query = new URLSearchParams(text);
  const filters: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    const values = query.getAll(name);
    if (!lists.includes(name) && values.length > 1) throw new Misuse(`--filters has ${name} more than once`);
    filters[name] = lists.includes(name) ? values.flatMap((value) => value.split(',')) : values[0];
  }
  try {
    return orderedFilters(filters as Filters);
  } catch (error) {
    throw new Misuse(`--filters: ${(error as Error).message}`);
  }
}

const options = {
  api: required(text('URL')),
  accessKeyId: text('ID'),
  mirror: required(text('FILE|-|table:NAME')),
  filters: or(text('QUERY'), ''),
  since: checked('CHECKPOINT', 'an X-Sync-Through as it came, such as 2026-01-31T09:41:00.000Z', (input) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(input),
  ),
  idColumn: or(text('C'), 'assessment_id'),
  updatedAtColumn: or(text('C'), 'updated_at'),
  recordColumn: or(text('C'), null),
  content: flag,
  repair: flag,
  force: flag,
};
type Verifying = Call<Values<typeof options>>;

/** The client and filters to compare the mirror with. `organisation`: the organisation of the access key. */
type Service = { client: Client; filters: Filters; signal: AbortSignal; organisation: string };

/**
 * Refuses to remove more than half of a mirror, because the access key or the filters may not be those of the mirror.
 * Withdrawn results do not count, because a mirror may have missed many withdrawals.
 * @throws Failure
 */
async function refuseToEmpty(service: Service, mirror: ForeignMirror, differences: CausedDifference[]): Promise<void> {
  const unknown = new Set(differences.filter(({ service }) => service === null).map(({ id }) => id));
  const all = mirror.held.size + mirror.unreadable.length;
  const isMost = () => (unknown.size + mirror.unreadable.length) * 2 > all;
  if (!isMost()) return;
  const withdrawn = service.client.assessments.list({ status: ['deleted'], limit: 500 }, { signal: service.signal });
  for await (const { assessment_id: id } of withdrawn) unknown.delete(id);
  if (isMost())
    throw new Failure(
      `Of ${all} results in the mirror ${unknown.size + mirror.unreadable.length} are none that organisation ${service.organisation} shows to this key pair, or has withdrawn. Is it the mirror's key pair, and are --filters the mirror's? Nothing was changed; --force repairs it all the same.`,
    );
}

const pageSize = 500;
/** Up to this number, the command always reads results one by one, by ID. */
const fewResults = 64;

/**
 * Reads differing and repeated results again and repairs the mirror. If a full sync takes fewer requests than reads by
 * ID, the command uses a full sync.
 * @returns the IDs of records that the mirror has changed meanwhile
 */
async function repair(
  { client, filters, signal }: Service,
  mirror: ForeignMirror,
  { differences, service: results }: Comparison,
): Promise<string[]> {
  const gone = differences.filter(({ service }) => service === null).map(({ id }) => id);
  const wanted = new Set([...differences.map(({ id }) => id), ...mirror.repeated]);
  for (const id of gone) wanted.delete(id);
  for (const ids of inParts(gone)) await mirror.write(new Map(ids.map((id) => [id, null])));
  if (wanted.size > Math.max(fewResults, results / pageSize)) {
    const walk = client.assessments.list({ ...filters, status: ['completed'], limit: pageSize }, { signal });
    for await (const { entries } of walk.pages()) {
      const found = (entries as Assessment[]).filter((one) => wanted.delete(one.assessment_id));
      if (found.length > 0) await mirror.write(new Map(found.map((one) => [one.assessment_id, one])));
      if (wanted.size === 0) break;
    }
    // Results that the full sync did not return have left the filters meanwhile, so the mirror must not get them.
    if (Object.keys(filters).length > 0) return [...(await mirror.save()), ...wanted];
  }
  for (const ids of inParts([...wanted])) {
    const read = new Map<string, Assessment | null>();
    for (const id of ids) read.set(id, await client.assessments.get(id, { signal }).catch(absent));
    await mirror.write(read);
  }
  return mirror.save();
}

function inParts(ids: string[]): string[][] {
  const parts = [];
  for (let at = 0; at < ids.length; at += pageSize) parts.push(ids.slice(at, at + pageSize));
  return parts;
}

/** @returns null for `not_found`. @throws every other error */
function absent(error: unknown): null {
  if (error instanceof ApiError && error.code === 'not_found') return null;
  throw error;
}

const shownLines = 20;

function report(
  organisation: string,
  mirror: Omit<Comparison, 'differences'>,
  differences: CausedDifference[],
  { held, repeated, unreadable }: ForeignMirror,
): string {
  const lines = [
    `The key pair is of organisation ${organisation}.`,
    `The service shows ${mirror.service} results, the mirror holds ${mirror.mirror} (compared by ${mirror.by}).`,
  ];
  if (differences.length + repeated.length + unreadable.length === 0)
    return [...lines, 'They are the same.'].join('\n');
  const list = (what: string, all: string[]) => {
    lines.push('', what, ...all.slice(0, shownLines).map((one) => `  ${one}`));
    if (all.length > shownLines) lines.push(`  and ${all.length - shownLines} more; --json lists all`);
  };
  for (const [cause, of] of Map.groupBy(differences, (one) => one.cause))
    list(
      `${of.length} ${cause}: ${sentences[cause]}.`,
      of.map(({ id, mirror: own, service }) => {
        const time = own === '' ? 'has no time' : (own ?? 'has none');
        return `${id}  mirror ${time}  service ${service ?? 'has none'}`;
      }),
    );
  if (repeated.length > 0)
    list(
      `${repeated.length} repeated: stands there more than once. Usual cause: records are added without looking for their assessment_id; make it the key.`,
      repeated,
    );
  if (unreadable.length > 0) list(`${unreadable.length} unreadable: holds no id of a result.`, unreadable);
  const isCoarse = held.size > 0 && [...held.values()].every((time) => time.endsWith('.000Z') || time === '');
  if (differences.length > 0 && isCoarse)
    lines.push(
      '',
      'Every time in the mirror is a whole second: keep updated_at as it came, with its three decimals, or nothing can be compared by it.',
    );
  const { restored } = mirror;
  if (restored !== null && differences.some(({ mirror: held, service }) => service === null && held! < restored))
    lines.push(
      '',
      `The service was restored from a backup (X-Sync-Restored: ${restored}). What arose after that backup is gone there without a tombstone: a mirror that does not compare digests walks without since once that time is later than its own.`,
    );
  return lines.join('\n');
}

/** The open mirror, and a function that opens it again. `isWritten`: a repair has begun to write. */
type Opened = { mirror: ForeignMirror; open(): Promise<ForeignMirror>; isWritten: boolean };

/**
 * Compares the mirror with the service and, with --repair, repairs the mirror. If the service is restored from a backup
 * meanwhile, the comparison starts again, and a mirror that was written to is read again.
 */
async function verify({ options: { since, ...wanted } }: Verifying, service: Service, opened: Opened) {
  let repaired = 0;
  return inSpiteOfRestores('verify-sync', async () => {
    if (opened.isWritten) {
      await opened.mirror.close();
      opened.mirror = await opened.open();
    }
    const { held, contents, repeated, unreadable } = opened.mirror;
    const compared = await compare({ ...service, held, since, contents: contents ?? undefined });
    const { differences, restored } = compared;
    if (!wanted.repair || differences.length + repeated.length + unreadable.length === 0)
      return { compared, repaired, left: [], isRepaired: opened.isWritten };
    if (!wanted.force) await refuseToEmpty(service, opened.mirror, differences);
    opened.isWritten = true;
    const left = await repair(service, opened.mirror, compared);
    repaired += new Set([...differences.map(({ id }) => id), ...repeated]).size + unreadable.length - left.length;
    refuseRestored('verify-sync', restored, await service.client.restored({ signal: service.signal }));
    return { compared, repaired, left, isRepaired: true };
  });
}

async function run(call: Verifying) {
  const client = new Client(accessOf(call.options));
  const { mirror: name, idColumn: id, updatedAtColumn: updatedAt, recordColumn: record } = call.options;
  const filters = filtersOf(call.options.filters);
  const { repair: willWrite, content: readsContents } = call.options;
  const open = () => openForeignMirror(name, { id, updatedAt, record, willWrite, readsContents });
  const opened: Opened = { mirror: await open(), open, isWritten: false };
  try {
    // The first request fails soon, so that a person at a terminal does not wait. Later requests are retried for
    // longer.
    const reach = { signal: call.signal, patienceMs: limits.verifySyncReachMs };
    const { organisation_id: organisation } = await client.health(reach).catch((error: unknown) => {
      // A response with Retry-After shows that the service is there, so this request waits for longer.
      if (!(error instanceof ApiError) || error.retryAfterMs === null) throw error;
      return client.health({ signal: call.signal });
    });
    const service: Service = { client, filters, signal: call.signal, organisation };
    const { compared, repaired, left, isRepaired } = await verify(call, service, opened);
    const { repeated, unreadable } = opened.mirror;
    const { differences, ...sizes } = compared;
    const wrong =
      differences.filter(({ cause }) => !passing.includes(cause)).length + repeated.length + unreadable.length;
    const ending =
      left.length === 0
        ? 'The mirror is repaired.'
        : `The mirror is repaired, but for ${left.length} results that it has changed itself meanwhile: compare again.`;
    return {
      json: { organisation, ...sizes, repaired, left, differences, repeated, unreadable },
      text: `${report(organisation, sizes, differences, opened.mirror)}${isRepaired ? `\n\n${ending}` : ''}`,
      exitCode: isRepaired ? Math.min(left.length, 1) : Math.min(wrong, 1),
    };
  } catch (error) {
    const hasBegun = opened.isWritten && name.startsWith('table:');
    if (call.signal.aborted)
      throw new Failure(`Stopped; ${hasBegun ? 'what was repaired by then stays so' : 'the mirror is as it was'}.`);
    if (error instanceof ApiError && error.status === 401) throw new Failure('The service refuses the key pair.');
    if (error instanceof ApiError && error.operation === 'health' && error.status === 404)
      throw new Failure('There is no API of the service at --api; is the base address right?');
    throw error;
  } finally {
    await opened.mirror.close();
  }
}

export const commands: Command[] = [
  command({
    name: 'verify-sync',
    summary: 'Compare a local copy with the service, and repair it',
    notes: 'The local copy is NDJSON or a table of PostgreSQL at DATABASE_URL.',
    examples: [
      '--api $API --mirror results.ndjson',
      '--api $API --mirror table:results --filters subject=digital --repair --record-column body',
    ],
    environment: { ...keyEnvironment, DATABASE_URL: 'The database of the local copy' },
    fails: 'The local copy differs from the service, or the command has failed.',
    about: {
      api: 'The base URL of the API',
      accessKeyId: 'The ID of the access key (default: ACCESS_KEY_ID)',
      mirror: 'The local copy',
      filters: 'The filters of the full sync, as in its URL',
      since: 'The stored checkpoint of the local copy',
      idColumn: 'The column of assessment_id',
      updatedAtColumn: 'The column of updated_at',
      recordColumn: 'The column of the full result',
      content: 'Also compares the content of every result',
      repair: 'Repairs the local copy',
      force: 'Repairs even if more than half of the local copy would be removed',
    },
    options,
    run,
  }),
];
