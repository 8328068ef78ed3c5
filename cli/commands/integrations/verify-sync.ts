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

const sentences: Record<Cause, string> = {
  pending: 'changed after the newest change in the local copy. Its next poll reads them',
  restored:
    'different because the service was restored after the last poll of the local copy. Its next poll corrects them if the client compares X-Sync-Digest or reads X-Sync-Restored',
  missing:
    'not in the local copy. Usual causes: since comes from a local clock, the checkpoint is stored before its data, or pages are not followed to the end',
  out_of_date:
    'an old state is in the local copy. Usual causes: those of missing results, or updates that keep the old record',
  extra:
    'withdrawn or outside the filters, and still in the local copy. Usual causes: the client ignores tombstones or scope exits, or a full sync does not replace the local copy',
  ahead:
    'newer in the local copy. Usual causes: the service was restored, a person changed the local copy, or the client stores a time other than updated_at',
  altered:
    'different content with the same time, or a time that cannot be read. Usual causes: a person changed the local copy, or an update keeps parts of the old record',
};

/** Differences that the mirror's next poll repairs. */
const passing: Cause[] = ['pending', 'restored'];

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
  since: checked('CHECKPOINT', 'an X-Sync-Through, such as 2026-01-31T09:41:00.000Z', (input) =>
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

/** `organisation`: the ID of the access key's organisation. */
type Service = { client: Client; filters: Filters; signal: AbortSignal; organisation: string };

/**
 * Refuses to remove more than half of a mirror, because the access key or the filters may belong to another mirror.
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
      `This access key of organisation ${service.organisation} finds no trace of ${unknown.size + mirror.unreadable.length} of the ${all} results in the local copy. Check the access key and --filters. Nothing was changed. To repair all the same, add --force.`,
    );
}

const pageSize = 500;
/** Up to this number of results, a repair always reads them one by one, by ID. */
const fewResults = 64;

/**
 * Reads different and repeated results again and repairs the mirror. Uses a full sync if that takes fewer requests than
 * reads by ID.
 * @returns the IDs of records that the mirror's program has changed during the repair
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
    // A result that the full sync did not return no longer matches the filters, so the mirror must not get it.
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
    `The access key belongs to organisation ${organisation}.`,
    `The service has ${mirror.service} results, and the local copy has ${mirror.mirror} (compared by ${mirror.by === 'walk' ? 'full sync' : 'digest'}).`,
  ];
  if (differences.length + repeated.length + unreadable.length === 0)
    return [...lines, 'The local copy is complete and up to date.'].join('\n');
  const list = (what: string, all: string[]) => {
    lines.push('', what, ...all.slice(0, shownLines).map((one) => `  ${one}`));
    if (all.length > shownLines) lines.push(`  and ${all.length - shownLines} more; --json lists all`);
  };
  for (const [cause, of] of Map.groupBy(differences, (one) => one.cause))
    list(
      `${of.length} ${cause.replaceAll('_', ' ')}: ${sentences[cause]}.`,
      of.map(({ id, mirror: own, service }) => {
        const time = own === '' ? 'has no time' : (own ?? 'has none');
        return `${id}  local copy ${time}  service ${service ?? 'has none'}`;
      }),
    );
  if (repeated.length > 0)
    list(`${repeated.length} repeated: stored more than once. Make assessment_id the key of the local copy.`, repeated);
  if (unreadable.length > 0) list(`${unreadable.length} unreadable: no ID of a result.`, unreadable);
  const isCoarse = held.size > 0 && [...held.values()].every((time) => time.endsWith('.000Z') || time === '');
  if (differences.length > 0 && isCoarse)
    lines.push('', 'Every time in the local copy is a full second. Store updated_at unchanged, with its 3 decimals.');
  const { restored } = mirror;
  if (restored !== null && differences.some(({ mirror: held, service }) => service === null && held! < restored))
    lines.push(
      '',
      `The service was restored from a backup (X-Sync-Restored: ${restored}). Results that were made after that backup have no tombstone. If the client does not compare digests, it needs a full sync.`,
    );
  return lines.join('\n');
}

/** `open` opens the mirror again. `isWritten`: a repair has begun to write. */
type Opened = { mirror: ForeignMirror; open(): Promise<ForeignMirror>; isWritten: boolean };

/**
 * Compares the mirror with the service and, with --repair, repairs the mirror. If a restore of the service interrupts
 * the comparison, it starts again. The mirror is then read again if a repair has written to it.
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
      // A response with Retry-After shows that the service is reachable, so the second request is retried for longer.
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
        ? 'The local copy is repaired.'
        : `The local copy is repaired, except ${left.length} results that the client changed meanwhile. Compare again.`;
    return {
      json: { organisation, ...sizes, repaired, left, differences, repeated, unreadable },
      text: `${report(organisation, sizes, differences, opened.mirror)}${isRepaired ? `\n\n${ending}` : ''}`,
      exitCode: isRepaired ? Math.min(left.length, 1) : Math.min(wrong, 1),
    };
  } catch (error) {
    const hasBegun = opened.isWritten && name.startsWith('table:');
    if (call.signal.aborted)
      throw new Failure(
        `Stopped. ${hasBegun ? 'Results that were repaired stay repaired.' : 'The local copy is unchanged.'}`,
      );
    if (error instanceof ApiError && error.status === 401)
      throw new Failure('The service refuses the access key. Check ACCESS_KEY_ID and SECRET_ACCESS_KEY.');
    if (error instanceof ApiError && error.operation === 'health' && error.status === 404)
      throw new Failure('There is no API of the service at --api. Check the URL.');
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
