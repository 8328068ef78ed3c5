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
  lost: 'never came, or was lost again. Usual causes: since from a clock of one’s own, a checkpoint stored before its data, pages that were not followed to the end',
  outdated: 'the newer state never came. Usual causes: as for lost ones, or updates that keep the older record',
  kept: 'was withdrawn, or has left the filters, and is still shown. Usual causes: tombstones or scope exits passed over, a whole walk that did not replace what was held',
  ahead:
    'is newer in the mirror. Usual causes: a backup came back at the service, or somebody has written to the mirror',
};

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

/** Reads every difference again by its id, and puts the mirror right; what is gone at the service is removed. */
async function repair(client: Client, mirror: ForeignMirror, differences: CausedDifference[], signal: AbortSignal) {
  for (const { id, service } of differences) {
    let record: Assessment | null = null;
    if (service !== null) {
      record = await client.assessments.get(id, { signal }).catch((error: unknown) => {
        if (error instanceof ApiError && error.code === 'not_found') return null;
        throw error;
      });
    }
    if (record === null) await mirror.remove(id);
    else await mirror.put(record);
  }
  await mirror.save();
}

function report(mirror: Omit<Comparison, 'differences'>, differences: CausedDifference[]): string {
  const lines = [
    `The service shows ${mirror.service} results, the mirror holds ${mirror.mirror} (compared by ${mirror.by}).`,
  ];
  if (differences.length === 0) return [...lines, 'They are the same.'].join('\n');
  for (const [cause, of] of Map.groupBy(differences, (one) => one.cause)) {
    lines.push('', `${of.length} ${cause}: ${sentences[cause]}.`);
    for (const { id, mirror: held, service } of of.slice(0, 20))
      lines.push(`  ${id}  mirror ${held ?? 'has none'}  service ${service ?? 'has none'}`);
    if (of.length > 20) lines.push(`  and ${of.length - 20} more; --json lists all`);
  }
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
  const place = requiredOption(call, 'mirror');
  const mirror = await openForeignMirror(place, {
    id: option(call, 'id-column') ?? 'assessment_id',
    updatedAt: option(call, 'updated-at-column') ?? 'updated_at',
    record: option(call, 'record-column') ?? null,
    willWrite: call.options.repair === true,
  });
  try {
    // Whoever waits at a terminal hears soon that nobody answers; what comes later is asked for with more patience.
    await client.health({ signal: call.signal, patienceMs: limits.verifySyncReachMs });
    const { differences, ...sizes } = await compare({ client, filters, held: mirror.held, signal: call.signal });
    const wrong = differences.filter(({ cause }) => cause !== 'coming');
    const isRepaired = call.options.repair === true && differences.length > 0;
    if (isRepaired) await repair(client, mirror, differences, call.signal);
    return {
      json: { ...sizes, repaired: isRepaired ? differences.length : 0, differences },
      text: `${report(sizes, differences)}${isRepaired ? '\n\nThe mirror is repaired.' : ''}`,
      exitCode: wrong.length === 0 || isRepaired ? 0 : 1,
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
      '--api URL --mirror FILE|-|table:NAME [--filters QUERY] [--id-column C] [--updated-at-column C] [--record-column C] [--repair]',
    summary: "Compare a consumer's mirror with any service by an access key, say what differs and why, and repair it",
    options: {
      api: { type: 'string' },
      'access-key-id': { type: 'string' },
      mirror: { type: 'string' },
      filters: { type: 'string' },
      'id-column': { type: 'string' },
      'updated-at-column': { type: 'string' },
      'record-column': { type: 'string' },
      repair: { type: 'boolean' },
    },
    run,
  },
];
