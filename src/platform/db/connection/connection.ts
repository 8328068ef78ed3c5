import pg from 'pg';
import { sessionSettings } from './session-settings.ts';
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
 * The configuration of a connection. The service sets `application_name` and `options` itself, so these parameters of
 * the URL are dropped or merged. Times are always UTC.
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
