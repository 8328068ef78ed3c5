import type { Assessment, CausedDifference, Cause, Comparison, Filters } from '../client/src/index.ts';
import { ApiError, ArsError, Client, compare, SyncStopped } from '../client/src/index.ts';
import { accessOption } from './access.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import type { ForeignMirror } from './foreign-mirror.ts';
import { openForeignMirror } from './foreign-mirror.ts';
import { option, requiredOption } from './open.ts';
import { limits } from '../src/limits.ts';

/** What is usually behind each kind of difference, for the person who looks after the mirror. */
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

/** What the mirror's next poll sees to by itself. */
const passing: Cause[] = ['coming', 'restored'];

/** The filters that the mirror was made with, written as the query of its walks. */
function filtersOption(call: Call): Filters {
  const query = new URLSearchParams(option(call, 'filters') ?? '');
  const filters: Record<string, unknown> = {};
  for (const [name, value] of query) {
    const isList = ['subject', 'rqf_level_code', 'group_id'].includes(name);
    filters[name] = isList ? value.split(',') : value;
  }
  return filters as Filters;
}

/** The mirror's checkpoint, as the service gave it. */
function sinceOption(call: Call): string | undefined {
  const since = option(call, 'since');
  if (since !== undefined && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(since))
    throw new Misuse('--since must be an X-Sync-Through as it came, such as 2026-01-31T09:41:00.000Z');
  return since;
}

/** Reads what differs, or is there twice, again by its id, and puts the mirror right; what is gone at the service is removed. */
async function repair(client: Client, mirror: ForeignMirror, differences: CausedDifference[], signal: AbortSignal) {
  const gone = new Set(differences.filter(({ service }) => service === null).map(({ id }) => id));
  for (const id of new Set([...differences.map((one) => one.id), ...mirror.repeated])) {
    let record: Assessment | null = null;
    if (!gone.has(id)) {
      record = await client.assessments.get(id, { signal }).catch((error: unknown) => {
        if (error instanceof ApiError && error.code === 'not_found') return null;
        throw error;
      });
    }
    if (record === null) await mirror.remove(id);
    else await mirror.put(record);
  }
  if (mirror.unreadable.length > 0) await mirror.removeUnreadable();
  await mirror.save();
}

const shownLines = 20;

function report(
  mirror: Omit<Comparison, 'differences'>,
  differences: CausedDifference[],
  { held, repeated, unreadable }: ForeignMirror,
): string {
  const lines = [
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
  const isCoarse = [...held.values()].every((time) => time.endsWith('.000Z') || time === '');
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

async function run(call: Call) {
  const client = new Client(accessOption(call));
  const filters = filtersOption(call);
  const since = sinceOption(call);
  const place = requiredOption(call, 'mirror');
  const mirror = await openForeignMirror(place, {
    id: option(call, 'id-column') ?? 'assessment_id',
    updatedAt: option(call, 'updated-at-column') ?? 'updated_at',
    record: option(call, 'record-column') ?? null,
    willWrite: call.options.repair === true,
    readsContents: call.options.content === true,
  });
  try {
    // Whoever waits at a terminal hears soon that nobody answers; what comes later is asked for with more patience.
    await client.health({ signal: call.signal, patienceMs: limits.verifySyncReachMs });
    const { held, contents, repeated, unreadable } = mirror;
    const compared = await compare({
      client,
      filters,
      held,
      since,
      contents: contents ?? undefined,
      signal: call.signal,
    });
    const { differences, ...sizes } = compared;
    const wrong =
      differences.filter(({ cause }) => !passing.includes(cause)).length + repeated.length + unreadable.length;
    const isRepaired = call.options.repair === true && wrong + differences.length > 0;
    if (isRepaired) await repair(client, mirror, differences, call.signal);
    const repaired = isRepaired
      ? new Set([...differences.map(({ id }) => id), ...repeated]).size + unreadable.length
      : 0;
    return {
      json: { ...sizes, repaired, differences, repeated, unreadable },
      text: `${report(sizes, differences, mirror)}${isRepaired ? '\n\nThe mirror is repaired.' : ''}`,
      exitCode: wrong === 0 || isRepaired ? 0 : 1,
    };
  } catch (error) {
    if (call.signal.aborted) throw new Failure('Stopped; the mirror is as it was.');
    if (error instanceof TypeError) throw new Misuse(`--filters: ${error.message}`);
    if (error instanceof ApiError && error.status === 401) throw new Failure('The service refuses the key pair.');
    if (error instanceof ApiError && error.operation === 'health' && error.status === 404)
      throw new Failure('There is no API of the service at --api; is the base address right?');
    if (error instanceof ArsError || error instanceof SyncStopped) throw new Failure(error.message);
    throw error;
  } finally {
    await mirror.close();
  }
}

export const commands: Command[] = [
  {
    name: 'verify-sync',
    usage:
      '--api URL --mirror FILE|-|table:NAME [--filters QUERY] [--since CHECKPOINT] [--id-column C] [--updated-at-column C] [--record-column C] [--content] [--repair]',
    summary: "Compare a consumer's mirror with any service by an access key, say what differs and why, and repair it",
    options: {
      api: { type: 'string' },
      'access-key-id': { type: 'string' },
      mirror: { type: 'string' },
      filters: { type: 'string' },
      'id-column': { type: 'string' },
      'updated-at-column': { type: 'string' },
      'record-column': { type: 'string' },
      since: { type: 'string' },
      content: { type: 'boolean' },
      repair: { type: 'boolean' },
    },
    run,
  },
];
