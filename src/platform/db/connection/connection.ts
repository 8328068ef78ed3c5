import pg from 'pg';
import { applicationName } from '../payload-version.ts';

const int8 = 20;
const int8Array = 1016;
const types: pg.CustomTypesConfig = {
  // Positions, times and counts stay below 2^53, so they are read as numbers.
  getTypeParser: ((oid: number, format: 'text' | 'binary') => {
    if (format === 'text' && oid === int8) return Number;
    if (format === 'text' && oid === int8Array)
      return (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number));
    return pg.types.getTypeParser(oid, format);
  }) as pg.CustomTypesConfig['getTypeParser'],
};

/**
 * The configuration of a connection. The service replaces the URL's `application_name`, and adds its settings to the
 * URL's `options` unless `pooled`. Times are always UTC.
 * @param pooled the connection leads through a pooler, which passes on no settings, so the database role must have them
 * (pooler.ts)
 */
export function connectionTo(url: string, pooled: boolean, settings = sessionSettings): pg.ClientConfig {
  const [place, ...rest] = url.split('?');
  const query = new URLSearchParams(rest.join('?'));
  const options = [
    ...query.getAll('options').slice(-1),
    ...Object.entries({ ...settings, DateStyle: 'ISO', TimeZone: 'UTC' }).map(([name, value]) => `-c ${name}=${value}`),
  ];
  for (const ours of ['application_name', ...(pooled ? [] : ['options'])]) query.delete(ours);
  return {
    connectionString: query.size === 0 ? place! : `${place}?${query.toString()}`,
    types,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: 5000,
    application_name: applicationName,
    ...(pooled ? {} : { options: options.join(' ') }),
  } as pg.ClientConfig;
}

export async function withClient<T>(config: pg.ClientConfig, inside: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(config);
  try {
    await client.connect();
    return await inside(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Plans are generic, because a plan made for one organisation can be slow for the next. Parallel workers and JIT cost
 * more time than they save.
 */
export const sessionSettings: Record<string, string> = {
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  lock_timeout: '15s',
  idle_in_transaction_session_timeout: '1min',
};

/**
 * Citus chooses the node by the values of a statement, so plans are custom. A lock timeout reaches the node only if
 * Citus propagates `set local`.
 */
export const distributedSettings: typeof sessionSettings = {
  ...sessionSettings,
  plan_cache_mode: 'force_custom_plan',
  'citus.propagate_set_commands': 'local',
};
